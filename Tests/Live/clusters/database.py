"""A primary of PostgreSQL and its standby, in a folder of their own, and an archive that both can be restored from."""
import datetime, glob, os, shutil, signal, subprocess, time

from kit.web import until

PROGRAMS = max(glob.glob("/usr/lib/postgresql/*/bin"), default="/usr/bin")
# The server refuses to run as root.
OWNER = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []


def own(folder):
    os.makedirs(folder, exist_ok=True)
    if OWNER:
        shutil.chown(folder, "postgres", "postgres")


class Server:
    """One server of PostgreSQL on loopback, and on the line of a network."""

    def __init__(self, folder, port, network=None):
        self.folder, self.data, self.port, self.network, self.process, self.settings = folder, folder + "/data", port, network, None, {}

    def command(self, name, *arguments):
        return subprocess.run([*OWNER, f"{PROGRAMS}/{name}", *arguments], cwd="/", check=True, capture_output=True, text=True).stdout

    def make(self):
        own(self.folder)
        self.command("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with open(self.data + "/pg_hba.conf", "a") as file:
            file.write("host replication all 127.0.0.1/32 trust\n" + (f"host all all {self.network.whole} trust\n" if self.network else ""))
        # The mode cannot change while it runs. Until there is an archive, nothing is kept.
        with open(self.data + "/postgresql.conf", "a") as file:
            file.write("archive_mode = on\narchive_command = 'true'\n")

    def back_up(self, folder, *more):
        self.command("pg_basebackup", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-D", folder, "-c", "fast", *more)

    def follow(self, primary):
        """Becomes a standby of another server."""
        own(self.folder)
        primary.back_up(self.data, "-R", "-d", "application_name=standby")
        self.start()

    def start(self, once={}, **settings):
        """Starts with these settings, or those of the last start. Those in `once` are for this start only."""
        self.settings = settings or self.settings
        hosts = ["127.0.0.1", *([self.network.database] if self.network else [])]
        every = dict(listen_addresses=",".join(hosts), unix_socket_directories=self.folder, port=self.port, max_connections=150,
                     shared_buffers="64MB") | self.settings | once
        options = sum((["-c", f"{name}={value}"] for name, value in every.items()), [])
        with open(self.folder + "/log", "a") as log:
            self.process = subprocess.Popen([*OWNER, f"{PROGRAMS}/postgres", "-D", self.data, *options], cwd="/", stdout=log, stderr=log)
        until(lambda: not subprocess.run([f"{PROGRAMS}/pg_isready", "-q", "-h", self.folder, "-p", str(self.port)]).returncode,
              lambda: "PostgreSQL does not start: " + self.log(), 60)

    def log(self):
        with open(self.folder + "/log") as file:
            return file.read()[-2000:]

    def sql(self, text, database="handstamp"):
        return subprocess.run(["psql", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-d", database, "-XqAt", "-v",
                               "ON_ERROR_STOP=1", "-c", text], check=True, capture_output=True, text=True).stdout.strip()

    def set(self, name, value):
        self.sql(f"ALTER SYSTEM SET {name} = '{value}'", "postgres")
        self.sql("SELECT pg_reload_conf()", "postgres")

    def stop(self):
        """Stops as an operator would. What is in its log is archived first."""
        self.command("pg_ctl", "stop", "-D", self.data, "-m", "fast", "-w")
        self.process.wait()

    def kill(self):
        """All processes at once, as a machine that loses its power."""
        if self.process and self.process.poll() == None:
            for pid in self.pids():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.wait()

    def pids(self):
        """Of all its processes, the first one first."""
        first = self.process.pid
        return [first, *map(int, subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True).stdout.split())]


class Pair:
    """A primary whose commits wait for a standby, or do not if it is asynchronous."""

    def __init__(self, folder, ports, network, is_synchronous=True):
        self.is_synchronous, self.backup = is_synchronous, None
        self.primary, self.standby = self.servers = [Server(f"{folder}/{name}", port, network) for name, port in zip(("one", "two"), ports)]

    def start(self):
        self.primary.make()
        self.primary.start()
        self.primary.sql("CREATE DATABASE handstamp", "postgres")
        self.standby.follow(self.primary)
        self.wait_for_standby()

    def wait_for_standby(self):
        """From then on commits wait for it."""
        self.primary.set("synchronous_standby_names", "*" if self.is_synchronous else "")
        follows = f"SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '{'sync' if self.is_synchronous else 'async'}'"
        until(lambda: self.primary.sql(follows, "postgres") == "1", "the standby does not follow", 60)

    def fail_over(self):
        """The standby falls behind, the primary is lost, and the standby takes its place. Returns how long that took."""
        for pid in self.primary.sql("SELECT pid FROM pg_stat_replication", "postgres").split():
            os.kill(int(pid), signal.SIGSTOP)
        # Commits that wait for the standby do not get far.
        behind = f"SELECT pg_current_wal_flush_lsn() - sent_lsn > {0 if self.is_synchronous else 100_000} FROM pg_stat_replication"
        until(lambda: self.primary.sql(behind, "postgres") == "t", "the standby does not fall behind")
        self.primary.kill()
        began = time.monotonic()
        self.standby.command("pg_ctl", "promote", "-D", self.standby.data, "-w")
        took = time.monotonic() - began
        self.primary, self.standby = self.standby, self.primary
        return took

    def rebuild_standby(self):
        shutil.rmtree(self.standby.data)
        self.standby.follow(self.primary)
        self.wait_for_standby()

    def back_up(self, folder):
        """Archives the log from now on, and takes a base backup."""
        self.backup = folder
        own(folder)
        self.primary.set("archive_command", f"test ! -f {folder}/%f && cp %p {folder}/%f")
        self.primary.back_up(folder + "/base")

    def restore(self, at):
        """Replaces the primary by what it was at that time, which is in seconds, and its standby by a copy."""
        self.primary.stop()
        self.standby.stop()
        shutil.rmtree(self.primary.data)
        subprocess.run([*OWNER, "cp", "-a", self.backup + "/base", self.primary.data], check=True)
        subprocess.run([*OWNER, "touch", self.primary.data + "/recovery.signal"], check=True)
        # Not in its file: a standby that is copied from it would stop at that time, too, and promote itself.
        self.primary.start(once=dict(
            restore_command=f"cp {self.backup}/%f %p", recovery_target_action="promote",
            recovery_target_time=datetime.datetime.fromtimestamp(at, datetime.timezone.utc).isoformat(" ")))
        until(lambda: self.primary.sql("SELECT pg_is_in_recovery()", "postgres") == "f", lambda: "the restore does not end: " + self.primary.log(), 60)
        self.rebuild_standby()

    def url(self, host="127.0.0.1"):
        return "postgresql://postgres@" + ",".join(f"{host}:{server.port}" for server in self.servers) + "/handstamp"

    def stop(self):
        for server in self.servers:
            server.kill()
