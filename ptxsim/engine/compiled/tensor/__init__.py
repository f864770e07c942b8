"""Matrix products in native code: operands as panels, dot products, products of warps and warpgroups."""
