"""Kernels forked from one process that has imported what notebooks import, for headless runs.

owner.py starts and ends that process, server.py is that process, kernel.py is what its forks do, and
provisioner.py with client.py are the side of jupyter_client. agreement.py is what both sides hold to. spare.py with
obeying.py give a kernel a fork server that need not import.
"""
