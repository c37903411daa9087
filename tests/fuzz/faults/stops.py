"""A run that waits before one of its calls, while a signal, a second run or a change of its model comes."""
import os
import shutil
import signal
import subprocess
import threading

from works import WORKS, Works

STOPS = ['open', 'write', 'sync', 'rename', 'remove']  # where signals come, and other programs


class Stops(Works):
    """One check for each of what may come."""

    def stopped(self, folder, words, kind, n, act):
        """The status of a run in which act(process) is done before the n-th call."""
        process = self.start(folder, words, LD_PRELOAD=self.injector, FAULT=f'{kind} {n} stop')
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            act(process.pid)
            os.kill(process.pid, signal.SIGCONT)
            alarm = threading.Timer(600, lambda: os.kill(process.pid, signal.SIGABRT))
            alarm.start()
            _, status = os.waitpid(process.pid, 0)
            alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode

    def signalled(self, name, kind, n, which):
        begins, words, _ = WORKS[name]
        folder = self.folder(begins)
        status = self.stopped(folder, words, kind, n, lambda pid: os.kill(pid, which))
        # Before the program listens, and with SIGKILL always, the signal itself ends it.
        problem = None if status == 0 else self.said(folder, status, allowed=(which,))
        if status == 130:  # it has listened
            problem = problem or self.left(folder)
        self.note(f'{name}, {which.name} before {kind} {n}', problem or self.continued(folder, name))
        shutil.rmtree(folder)

    def second_run(self, name, kind, n):
        begins, words, _ = WORKS[name]
        folder = self.folder(begins)
        (folder / 'second').mkdir()
        second = []

        def run_second(_):
            process = subprocess.run([self.glim, *words.split()], cwd=folder, capture_output=True, text=True,
                                     env=self.environment, timeout=600)
            second.append((process.returncode, process.stderr.splitlines()))

        status = self.stopped(folder, words, kind, n, run_second)
        other, lines = second[0] if second else (0, [])
        problem = None if status == 0 else self.said(folder, status)
        if not problem and other != 0 and (other < 0 or len(lines) != 1):
            problem = f'the second run: status {other}: {lines}'
        if not problem and status != 0 and other != 0:
            problem = f'neither run came to its end: {(folder / "err").read_text()} {lines}'
        self.note(f'{name}, a second run before {kind} {n}', problem or self.continued(folder, name))
        shutil.rmtree(folder)

    def changed(self, kind, n, change):
        """A model that changes while a translation reads it."""
        begins, words, _ = WORKS['translate']
        folder = self.folder(begins)
        file, other = folder / 'model/average.safetensors', self.work / 'other/model/average.safetensors'

        def act(_):
            if change == 'replaced':
                shutil.copy(other, folder / 'new')
                os.replace(folder / 'new', file)
            elif change == 'cut':
                os.truncate(file, file.stat().st_size // 2)
            elif change == 'removed':
                shutil.rmtree(folder / 'model')
            elif change == 'overwritten':
                shutil.copy(other, file)
            elif change == 'zeros':
                file.write_bytes(bytes(file.stat().st_size))

        status = self.stopped(folder, words, kind, n, act)
        if status != 0:
            problem = self.said(folder, status)
        else:
            # One model or the other; a file overwritten in place may give a part of each.
            known = [self.right['translate'], self.translation_of_other]
            problem = None if self.outcome(folder, False) in known or change in ('overwritten', 'zeros') else \
                'a translation by neither model'
        self.note(f'translate, model {change} before {kind} {n}', problem)
        shutil.rmtree(folder)
