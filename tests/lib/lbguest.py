"""What a guest handed over by tests/vm/guest-lib.sh, for the host's half of a VM test.

    from lbguest import Guest
    guest = Guest()                         # from the file named by the first argument
    int(guest.fact("reads_before"))         # fact reads_before 17
    guest.result("uring").expect(0).json    # run uring lunbench ... --json -
"""

import pathlib
import sys

from lbtest import Result, fail


class Guest:
    def __init__(self, output=None):
        self._facts, self._texts = {}, {}
        data = pathlib.Path(output or sys.argv.pop(1)).read_bytes()
        inside = None
        for line in data.split(b"\n"):
            word, _, rest = line.partition(b" ")
            if inside is not None and word != b"#end":
                self._texts[inside].append(line)
            elif word == b"#begin":
                inside = rest.decode()
                self._texts[inside] = []
            elif word == b"#end":
                inside = None
            elif word == b"#fact":
                name, _, value = rest.decode("utf-8", "replace").partition(" ")
                self._facts[name] = value

    def fact(self, name):
        if name not in self._facts:
            fail(f"the guest gave no fact {name!r}; it gave: {' '.join(self._facts)}")
        return self._facts[name]

    def result(self, name):
        """The command that the guest ran as `run NAME`, as lbtest's lunbench() gives it."""
        status = int(self.fact(f"{name}.status"))
        return Result([name], status, self._text(f"{name}.out"), self._text(f"{name}.err"), 0.0, None)

    def _text(self, name):
        # each line had a | put before it; one more newline was written after the last
        lines = self._texts.get(name, [])
        return b"\n".join(line[1:] for line in lines)
