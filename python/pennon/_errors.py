"""Exceptions of pennon."""


class Error(Exception):
    """Base of everything that pennon raises on its own.

    ``file``, ``column``, ``page``, ``buffer`` and ``offset`` say where it was met, as far as that is known.
    """

    def __init__(self, message="", *, file=None, column=None, page=None, buffer=None, offset=None):
        super().__init__(message)
        self.file = file
        self.column = column
        self.page = page
        self.buffer = buffer
        self.offset = offset

    def __str__(self):
        return str(self.args[0]) if self.args else ""


class CorruptFile(Error):
    """The bytes of a file contradict its format, a checksum, or each other."""


class Unsupported(Error):
    """Legal, but not something that this release reads or writes."""


class InvalidArgument(Error, ValueError):
    """The caller asked for something that cannot be: a wrong name, option, value or type."""


class LimitExceeded(Error):
    """A bound on what a file may make a reader do would have been passed."""


class RowOutOfRange(InvalidArgument, IndexError):
    """A row that the file does not have."""


class ColumnNotFound(InvalidArgument, KeyError):
    """A column that the file does not have."""


class IoError(Error, OSError):
    """Reading or writing failed; ``errno``, ``strerror`` and ``filename`` as in ``OSError``."""

    def __init__(self, *args):
        OSError.__init__(self, *args)
        self.file = self.filename
        self.column = self.page = self.buffer = self.offset = None

    __str__ = OSError.__str__


class MissingFile(IoError, FileNotFoundError):
    """There is no such file."""


class PermissionDenied(IoError, PermissionError):
    """The file may not be read or written."""


for _class in list(globals().values()):
    if isinstance(_class, type):
        _class.__module__ = "pennon"
del _class
