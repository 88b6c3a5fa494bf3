"""The parts of `pad_and_mask`: carriers, guards, index maps, outputs, names."""
