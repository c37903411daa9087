"""A file system as POSIX promises it, and the states in which a power cut may leave it.

An operation is durable when it is synced: writes to a file by fsync of the file, names in a folder by fsync of
the folder. Until then the disk may hold any of them and not the others, in any order; only those of one name
keep their order. A rename is atomic. A write may reach the disk sector by sector, in any order. Where a part of
a file was never written there are zeros.

For every prefix of the operations these states are built:

  - all that was done; only what was synced
  - each set of the operations that are not synced, if they are at most MOST_IN_SETS; else each single one
    missing, each single one there, the first k of them, all names without the data, all data without the names
  - the same with the data's size, but zeros for the data
  - if the last operation is a write: its first k sectors, all but the first k, and all but sector k, alone and
    with the rest of what is not synced

Operations on files that only grow and are never synced (the lines of measurements) would make the sets many:
in sets they are all there or all missing, and each is missing once and there alone once.
"""
import itertools
import os
import pathlib

SECTOR = 512
MOST_IN_SETS = 6


class Operation:
    """A change: of data (inode, offset, data; or size), or of names (folder, [(name, inode or None)])."""

    def __init__(self, kind, **more):
        self.kind = kind  # data, size, names, sync_file, sync_folder
        self.__dict__.update(more)


def read_record(path):
    """The entries of a record (recorder.cpp)."""
    raw = pathlib.Path(path).read_bytes()
    entries, at = [], 0
    while at < len(raw):
        end = raw.index(b'\n', at)
        name, fd, number, file, size = raw[at:end].decode().split(' ')
        at = end + 1 + int(size)
        entries.append((name, int(fd), int(number), os.path.normpath(file), raw[end + 1:at]))
    return entries


class Disk:
    """The files to begin with, and the entries of a record. `forget`: syncs of a 'file' or 'folder' that the disk
    does not obey."""

    def __init__(self, files, entries, forget=''):
        self.forget = forget
        self.start = {n: i for i, n in enumerate(sorted(files))}
        self.data = {i: files[n] for n, i in self.start.items()}
        self.folders = {os.path.dirname(n) for n in files} - {''}
        self.operations = list(self._operations(entries))

    def _operations(self, entries):
        names, number, open_files = self.first_names(), len(self.start), {}
        for call, fd, value, path, data in entries:
            folder = os.path.dirname(path)
            if call == 'open':
                if value & os.O_DIRECTORY or names.get(path) == 'folder' or path == '.':
                    open_files[fd] = ('folder', '' if path == '.' else path)
                    continue
                if path not in names:
                    if not value & os.O_CREAT:
                        continue
                    names[path] = number
                    self.data[number] = b''
                    number += 1
                    yield Operation('names', folder=folder, changes=[(path, names[path])])
                elif value & os.O_TRUNC:
                    yield Operation('size', inode=names[path], size=0)
                open_files[fd] = ('file', names[path])
            elif call == 'write':
                yield Operation('data', inode=open_files[fd][1], offset=value, data=data)
            elif call == 'truncate':
                yield Operation('size', inode=open_files[fd][1], size=value)
            elif call == 'sync':
                yield Operation('sync_' + open_files[fd][0], of=open_files[fd][1])
            elif call == 'close':
                open_files.pop(fd, None)
            elif call == 'mkdir':
                names[path] = 'folder'
                yield Operation('names', folder=folder, changes=[(path, 'folder')])
            elif call in ('unlink', 'rmdir'):
                names.pop(path)
                yield Operation('names', folder=folder, changes=[(path, None)])
            elif call == 'rename':
                to = os.path.normpath(data.decode())
                names[to] = names.pop(path)
                yield Operation('names', folder=folder, changes=[(path, None), (to, names[to])])

    def apply(self, operations, names, data):
        for op in operations:
            if op.kind == 'names':
                for name, inode in op.changes:
                    if inode is None:
                        names.pop(name, None)
                    else:
                        names[name] = inode
                continue
            old = data.get(op.inode, self.data[op.inode])
            if op.kind == 'data':
                data[op.inode] = old[:op.offset].ljust(op.offset, b'\0') + op.data + old[op.offset + len(op.data):]
            else:
                data[op.inode] = old[:op.size].ljust(op.size, b'\0')

    def state(self, names, data, kept):
        """The files and folders after the kept operations."""
        names, data = dict(names), dict(data)
        self.apply(kept, names, data)
        folders = {n for n, i in names.items() if i == 'folder'}
        there = lambda n: os.path.dirname(n) == '' or (os.path.dirname(n) in folders and there(os.path.dirname(n)))
        files = {n: data.get(i, self.data[i]) for n, i in names.items() if i != 'folder' and there(n)}
        return files, {f for f in folders if there(f)}

    def first_names(self):
        return {**self.start, **{folder: 'folder' for folder in self.folders}}

    def final(self):
        done = [op for op in self.operations if not op.kind.startswith('sync')]
        return self.state(self.first_names(), {}, done)[0]

    def states(self, checkpoint):
        """(files, folders, whether the file named `checkpoint` was safe, how the state came about)."""
        synced_files = {op.of for op in self.operations if op.kind == 'sync_file'}
        names, data, pending = self.first_names(), {}, []  # names and data: what is durable
        promised = dict(names)  # what the program may take for durable
        for p in range(len(self.operations) + 1):
            # Safe: the program has synced its name, and nothing that waits removes it. The folder's own name and
            # the file's bytes must be durable then.
            removed = any(op.kind == 'names' and op.changes[0] == (checkpoint, None) for op in pending)
            safe = checkpoint in promised and not removed
            for kept, how in self._sets(pending, synced_files):
                yield *self.state(names, data, kept), safe, f'operation {p}, {how}'
            if p == len(self.operations):
                return
            op = self.operations[p]
            if op.kind == 'sync_file':
                ready = [o for o in pending if o.kind in ('data', 'size') and o.inode == op.of]
            elif op.kind == 'sync_folder':
                ready = [o for o in pending if o.kind == 'names' and o.folder == op.of]
                self.apply(ready, promised, {})
            else:
                ready = []
                pending.append(op)
            if op.kind == f'sync_{self.forget}':
                continue
            self.apply(ready, names, data)
            pending = [o for o in pending if o not in ready]

    @staticmethod
    def _sets(pending, synced_files):
        grows = lambda op: op.kind != 'names' and op.inode not in synced_files
        names = [op for op in pending if op.kind == 'names']
        few = [op for op in pending if not grows(op)]
        yield pending, 'everything done'
        yield [], 'only what was synced'
        if len(few) <= MOST_IN_SETS:
            for size in range(len(few) + 1):
                for some in itertools.combinations(few, size):
                    yield some, 'a set of what was not synced'
                    yield [op for op in pending if grows(op) or op in some], 'such a set, and measurements'
        for i, op in enumerate(pending):
            yield pending[:i] + pending[i + 1:], f'without the {op.kind} of {i}'
            yield [op], f'only the {op.kind} of {i}'
            yield pending[:i], f'the first {i} that were not synced'
        yield names, 'names without data'
        yield [op for op in pending if op.kind != 'names'], 'data without names'
        zeros = [Operation('data', inode=op.inode, offset=op.offset, data=bytes(len(op.data))) if op.kind == 'data'
                 else op for op in pending]
        yield zeros, 'zeros for data'
        if not pending or pending[-1].kind != 'data':
            return
        last, rest = pending[-1], pending[:-1]
        part = lambda offset, data: Operation('data', inode=last.inode, offset=offset, data=data)
        first = SECTOR - last.offset % SECTOR
        cuts = list(range(first, len(last.data), SECTOR))
        for before in (rest, names):
            for k, cut in enumerate(cuts):
                end = cuts[k + 1] if k + 1 < len(cuts) else len(last.data)
                begin = part(last.offset, last.data[:cut])
                size = part(last.offset, bytes(len(last.data)))
                tail = part(last.offset + cut, last.data[cut:])
                yield [*before, begin], f'the last write torn at byte {cut}'
                yield [*before, tail], f'the last write without its first {cut} bytes'
                yield [*before, size, begin], f'the last write zero from byte {cut}'
                yield [*before, size, begin, part(last.offset + end, last.data[end:])], \
                    f'the last write without its sector at byte {cut}'
