"""Compiles an exported program: package.py PROGRAM PACKAGE"""

import sys

import torch

program = torch.export.load(sys.argv[1])
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[2])
