# Sourced by the scripts beside it: what a long command prints goes to a log, and one line at a time to
# whoever waits.

# COMMAND | brief LOG: a moving line on a terminal, elsewhere a line every three seconds.
brief() {
  local log=$1 line last=-3 width=${COLUMNS:-80}
  while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line" >>"$log"
    case "$line" in
      \[[0-9]*/[0-9]*\]*) line=${line/Compiling C++ object /} line=${line/meson-generated_/} ;;
      "Get:"*|"Unpacking "*|"Setting up "*) ;;
      *) continue ;;
    esac
    if [ -t 1 ]; then
      printf '\r\033[K%s' "${line:0:$((width - 1))}"
    elif [ $((SECONDS - last)) -ge 3 ]; then
      last=$SECONDS
      printf '  %s\n' "$line"
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
}
