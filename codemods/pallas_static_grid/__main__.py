"""`python -m pallas_static_grid`."""

from pallas_static_grid.cli import main

if __name__ == "__main__":
    main(prog_name="pallas-static-grid")
