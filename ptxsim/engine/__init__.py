"""Runs kernels: programs decoded from bound statements, and the engines that execute them."""
