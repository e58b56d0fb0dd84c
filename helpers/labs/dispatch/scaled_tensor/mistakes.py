"""none yet"""
