"""Registers: read before they are written, taken by wgmma without a fence, counted by setmaxnreg."""
