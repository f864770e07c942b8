'''LLVM in this process: IR text to machine code, kept on disk; and bodies, functions written once that run plain and compiled.

How to write a body
-------------------
A body is an ordinary function over numpy arrays. A call runs it in Python: no wait, any debugger. `compiled` runs the same text
as machine code, from the object store or compiled at its first call (some tenths of a second): in haste first, and with care, which
takes several times as long, once it has run for a while. `checked` does so with every index checked, for tests.

    @body
    def count(records: Array, seen: Array) -> int:
        """How many of the records are new; marks them as seen."""
        found = 0
        for i in range(len(records)):
            if records[i]["event"] == Event.LOAD and not seen[records[i]["site"]]:
                seen[records[i]["site"]] = True
                found += 1
        return found

    count(records, seen)                        # Python
    count.compiled(records, seen)               # machine code
    count.form(len(records))(records, seen)     # Python until there have been many

Arguments: arrays (rows in one piece, the distance of rows as it comes), ints, floats, bools, tuples of these, named or not; tuples of one
kind, of which one is taken by its number (`ptxsim.jit.kinds.Alike`).
Results: numbers or a tuple of numbers.

The language: `if`, `while`, `for` over range() or a tuple written there, `break`, `continue`, `return`; assignment, also to
several names and augmented; arithmetic, comparison (chains, `in` constants), `and`, `or`, `not`, `a if c else b`; `a[i, j]`,
`a[i]["field"]`, `a[i].field`, rows (`a[i] = b[j]` copies), `len`, `.shape`; `min`, `max`, `abs`, `int`, `float`, `bool`,
`np.uint64`, `.bit_count()`; scratch of constant size, `[0] * 32` or `np.zeros((4, 8), np.int32)`; constants of the module
(numbers, enum members, tables as tuples or arrays); calls of other such functions, decorated or not, compiled for the kinds they
are called with; what `ptxsim.jit.vectors` asks about all lanes at once. Anything else is refused with file and line when it is
compiled.

What to mind:
* A variable has one kind, that of its first assignment: write `0.0` where it will hold a float.
* Ints have 64 bits; what leaves them wraps, where Python goes on. `//`, `%` and `>>` are Python's. Numbers read from memory are
  widened by their sign, and stored they lose their upper bits. In Python, numpy computes in the width of the array: take int()
  of what may leave it. Of a 32-bit float, float() has to be taken.
* 64-bit unsigned numbers mix with constants only: take int() of an address.
* Division by zero and an index out of range are undefined in compiled code; `checked` raises IndexError for both. Negative
  indices are not Python's.
* Arguments must not be changed while they are read as constants: a tuple's arrays stay what they are for the whole call.

Functions that native code calls by name, and native functions that a body calls: see `ptxsim.jit.export`;
records that Python, bodies and native code share: `ptxsim.jit.record`.
'''
