#!/bin/bash
# The machine on which the commands of a document are run. Sourced, it defines what the runs need; under another name, which is first in PATH,
# it stands before the program of that name, or in its place.
#
# R is the folder that stands for the machine's /, REAL has the built programs, KIT the browser, PORT is the server's, and descriptor 8 its
# standard input, which ends with the test.
set -euo pipefail

launch() {   # a program, until its first line: the name of its log, then the command
  local name=$1 line; shift
  [ -p "$R/$name.line" ] || mkfifo "$R/$name.line"
  "$@" <&8 > >(head -n 1 >"$R/$name.line"; exec cat >/dev/null) 2>>"$R/$name.log" &
  echo $! >>"$R/$name.pids"
  read -r line <"$R/$name.line" || { tail -n 3 "$R/$name.log" >&2; return 1; }
}

quiet() {   # no program of that name
  [ -e "$R/$1.pids" ] || return 0
  xargs kill <"$R/$1.pids" 2>/dev/null || :
  timeout 60 tail $(sed 's/^/--pid=/' "$R/$1.pids") -s 0.05 -f /dev/null
  rm "$R/$1.pids"
}

serve() {   # the server with these options, in place of the one before
  quiet server
  launch server "$REAL/handstamp-server" serve "$@" --port "$PORT" --rate-limits none --until-stdin-ends
}

usual() {   # the server as its unit starts it, unless one runs
  [ -e "$R/server.pids" ] || serve --data "$R/var/lib/handstamp" --issuer "$ISSUER" --clients "$R/etc/handstamp/clients.json" \
    --admin-token-file "$R/etc/handstamp/admin" --log-level debug
}

admin() { "$REAL/handstamp-server" admin "$@" --data "$R/var/lib/handstamp" 8<&-; }

last() {   # a member of the last answer that has it
  sed -n "s/.*\"${1,,}\":\"\([^\"]*\)\".*/\1/p" "$R/answers" | tail -n 1
}

block() {   # what follows is of the block of this number
  exec >>"$R/out/$1" 2>>"$R/out/$1.words"
  echo "$1" >"$R/block"
}

browse() {   # as ada@example.org, or WHO, who allows everything; prints where the browser ends
  /usr/bin/python3 -B -c 'import sys
sys.path[:0] = [sys.argv[1]]
from kit.web import Person
person = Person(sys.argv[2] + "@example.org", sys.argv[3])
page = person.pass_through(sys.argv[4], sys.argv[5])
code = sys.argv[4].partition("user_code=")[2]
for action in ("look", "allow") if code else ():
    page = person.submit(page, action, user_code=code)
print(page.url)' "$KIT" "${WHO-ada}" "$PASSWORD" "$1" "${2:--}"
}

tokened() {   # fails unless the variable has a token, or names a file of one
  local value=${!1-}
  [[ $1 != *_FILE ]] || value=$(cat "$value")
  [[ $value =~ ^eyJ[^.]+\.eyJ[^.]+\.[^.]+$ ]] || { echo "${0##*/}: $1 has no token" >&2; exit 1; }
}

settle() {   # the settings of the unit's server, with clients; the programs of the user's own
  export DATA="$R/var/lib/handstamp"
  ln -sf ../bin/recorder "$R/work/deploy.sh"
  ln -sf ../bin/recorder "$R/work/report"
  ln -sf ../bin/recorder "$R/work/federate.sh"
  (umask 077; printf 'secret of confidential' >"$R/work/secret.txt")
  printf %s "$ADMIN_TOKEN" >"$R/etc/handstamp/admin"
  chmod 600 "$R/etc/handstamp/admin"
  local scopes='"openid","profile","email","offline_access","groups","read","read_user","repo","read:user","chat:write","users:read","mail",
    "read_repository","write_repository","https://www.googleapis.com/auth/cloud-platform","https://management.azure.com/.default",
    "urn:zitadel:iam:org:project:id:PROJECT-ID:aud"'
  local id places='"http://127.0.0.1/callback","http://localhost/callback","http://localhost","org.example.app:/signed-in"'
  {
    echo [
    for id in handstamp-cli ID cli my-client; do
      echo "{\"id\":\"$id\",\"flows\":[\"authorization_code\",\"device_code\"],\"redirectURIs\":[$places],\"scopes\":[$scopes],
        \"audiences\":[\"https://api.example.org\",\"$SERVICE/mcp\",\"billing\"],\"idTokenSigningAlg\":\"RS256\"},"
    done
    echo '{"id":"wiki","flows":["authorization_code"],"redirectURIs":["https://wiki.example.org/callback"],"scopes":["openid"],
      "secretSHA256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},'
    echo "{\"id\":\"confidential\",\"flows\":[\"authorization_code\"],\"redirectURIs\":[$places],\"scopes\":[$scopes],
      \"secretSHA256\":\"$(printf 'secret of confidential' | sha256sum | cut -d ' ' -f 1)\"}]"
  } >"$R/etc/handstamp/clients.json"
}

world() {   # accounts with sessions and entries of the log, a backup
  mkdir -p "$R"/{var/lib/handstamp,etc/handstamp,etc/default,backup,run,work,home/.handstamp/dev,out}
  chmod 700 "$R/home/.handstamp/dev"
  ln -s ../home/.handstamp/dev "$R/run/handstamp"
  ln -s ../var/lib/handstamp "$R/work/data"
  settle
  usual
  for device in laptop phone; do
    for name in ada eve; do
      HANDSTAMP_HOME="$R/$device" "$REAL/handstamp" "$([ $device = laptop ] && echo signup || echo login)" --server "$ISSUER" \
        --device-name $device $name@example.org <<<"$PASSWORD" 2>"$R/login.log" || cat "$R/login.log" >&2
    done
    rm -r "${R:?}/$device"
  done
  admin database backup "$R/backup/2026-11-26T0330" >/dev/null
  quiet server
  rm "$R"/server.* "$R/login.log" "$R/var/lib/handstamp/issuer"
}

without() {   # a document adds this client itself
  local file=$R/etc/handstamp/clients.json
  /usr/bin/python3 -c 'import json, sys
print(json.dumps([client for client in json.load(sys.stdin) if client["id"] != sys.argv[1]]))' "$1" <"$file" >"$file.new"
  mv "$file.new" "$file"
}

reload() {   # the settings of the unit's server, which has them when this ends
  usual
  local before; before=$(wc -c <"$R/server.log")
  kill -HUP "$(cat "$R/server.pids")"
  timeout 60 grep -q -m 1 "Settings reloaded" < <(exec tail -s 0.05 --pid=$$ -c +$((before + 1)) -f "$R/server.log")
}

code() {   # an authorization code: client, redirect URI, scopes, challenge
  usual
  browse "$ISSUER/oauth/authorize?response_type=code&client_id=$1&redirect_uri=$2&scope=${3// /%20}&code_challenge=$4&code_challenge_method=S256&state=s" \
    "$2" | sed 's/.*[?&]code=\([^&]*\).*/\1/'
}

again() {   # that world, to whose accounts nothing has happened
  quiet server
  rm -rf "$R/var/lib/handstamp" "$HOME/.local"
  cp -a "$WORLD/var/lib/handstamp" "$R/var/lib"
}

terminal() {
  local place
  case "$*" in
  *--client-credentials* | *--help* | --version | "") ;;
  "mcp "*) usual ;;
  login* | signup*)
    # Another way to sign in is another machine's.
    [[ "$*" == *--force* || "$*" == *--tag* || "$*" == *--proxy* || "$*" == *--client-certificate* ]] || rm -rf "$HOME/.local"
    usual
    [[ "$*" != *eve* ]] || export WHO=eve
    # At a prompt of the terminal.
    [[ "$*" == *@* || "$*" != *--server\ * || "$*" == *--take-over* ]] || set -- "$@" ada@example.org
    [ -p /dev/stdin ] || exec < <(echo "$PASSWORD")
    [[ "$*" != *--device* ]] || exec 2> >(tee >(sed -un 's/.*\(http[^ ]*user_code=[^ ]*\).*/\1/p' | while read -r place; do browse "$place" >/dev/null; done) >&2)
    ;;
  *)
    usual
    [ -n "${HANDSTAMP_AGENT-}" ] || [ -e "$HOME/.local/state/handstamp/vault/accounts.json" ] || BROWSER="$R/bin/browser" "$REAL/handstamp" login --issuer "$ISSUER" \
      --browser --scope openid --scope profile --scope email --scope groups --scope read --scope offline_access 2>"$R/login.log" || { cat "$R/login.log" >&2; exit 1; }
    ;;
  esac
  case "$*" in
  agent*) launch agent "$REAL/handstamp" "$@" ;;
  exec*)
    local names=() word before=
    for word; do
      [ "$word" != -- ] || break
      [ "$before" != --env ] || names+=("${word%%=*}")
      before=$word
    done
    WANTED="${names[*]:-HANDSTAMP_TOKEN}" exec "$REAL/handstamp" "$@"
    ;;
  *) exec "$REAL/handstamp" "$@" ;;
  esac
}

server() {
  case "$*" in
  serve\ *--check* | *--help*) exec "$REAL/handstamp-server" "$@" ;;
  serve*) shift; serve "$@" ;;
  "admin clients add "*) without "$4"; exec "$REAL/handstamp-server" "$@" ;;
  gate*) launch gate "$REAL/handstamp-server" "$@" ;;
  *) exec "$REAL/handstamp-server" "$@" ;;
  esac
}

unit() {   # systemctl
  case "$*" in
  *stop\ handstamp) quiet server ;;
  *restart\ handstamp) quiet server; usual ;;
  *start\ handstamp | *enable\ --now\ handstamp) usual ;;
  *reload\ handstamp) reload ;;
  esac
}

record() {   # a program that is not here: what it was called with
  local name
  for name in ${WANTED-}; do tokened "$name"; done
  [ ! -p /dev/stdin ] || grep -q eyJ || { echo "${0##*/}: no token on stdin" >&2; exit 1; }
  echo "${0##*/} $*" >>"$R/calls"
}

call=${0##*/}
case $call in
world | document)
  exec 8<&0 </dev/null
  trap 'for name in agent gate catcher server; do quiet $name; done' EXIT
  cd "$R/work"
  ;;
handstamp) terminal "$@" ;;
handstamp-server) server "$@" ;;
systemctl) record "$@"; unit "$@" ;;
browser) browse "$1" ;;
aiosmtpd)
  /usr/bin/python3 -u -m aiosmtpd "$@" <&8 >"$R/catcher.mails" 2>&1 &
  echo $! >"$R/catcher.pids"
  timeout 60 bash -c 'until (exec 3<>"/dev/tcp/${1/://}") 2>/dev/null; do :; done' bash "${@: -1}"
  ;;
journalctl) cat "$R/server.log" ;;
session) admin sessions list ada@example.org --json | grep -o '"id":"[^"]*"' | head -n 1 | cut -d'"' -f4 ;;
last) last "$1" ;;
curl)
  case "$*" in
  *"$ISSUER"/v1/events*) sed '/^$/q' < <(exec /usr/bin/curl "$@"); exit ;;
  *"$ISSUER"*) usual ;;
  *imaps:*eyJ* | *eyJ*imaps:*) record "$@"; exit ;;
  esac
  # Requests whose refusal would go unnoticed.
  /usr/bin/curl --fail --max-time 60 "$@" | tee -a "$R/answers"
  echo >>"$R/answers"
  [[ "$*" != */oauth/device_authorization* ]] || browse "$(last verification_uri_complete)" >/dev/null
  ;;
*) record "$@" ;;
esac
