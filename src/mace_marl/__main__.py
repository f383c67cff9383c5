"""`python -m mace_marl` is the command `mace`."""

from mace_marl.cli import main

main()
