#!/usr/bin/env bash
# wrong_lines.sh GLIM: each wrong command line of wrong_lines.txt is answered by one line that names the fault and
# the remedy, and nothing is begun.
set -uo pipefail
glim=$(realpath "$1")
list=$(realpath "$(dirname "$0")/wrong_lines.txt")
source "$(dirname "$0")/../common.sh"

mkdir here
cd here || exit 1
for i in {1..20}; do echo "a line of text number $i"; done >text
for i in {1..20}; do printf 'one\ttwo %d\n' "$i"; done >pairs
for i in {1..20}; do printf 'a sentence\t%d\n' $((i % 2)); done >labelled
echo 'no picture' >photo.jpg
before=$(ls)

pages=1
"$glim" study --list >out 2>&1 || pages=0
rm out
while IFS= read -r line; do
  [[ $line == *' => '* ]] || continue
  words=${line%% => *} expected=${line##* => } status=0 problem=
  # Without the pages the program says that these verbs are not there.
  [ $pages = 1 ] || [[ ! $words =~ ^(inspect|step|report|study) ]] || continue
  eval "timeout 600 '$glim' $words" >../out 2>../err </dev/null || status=$?
  message=$(cat ../err)
  if [ $status = 0 ] || [ $status -ge 124 ]; then problem="status $status: $message"
  elif [ "$(wc -l <../err)" != 1 ] || [[ $message != 'glim: error: '* ]]; then problem="not one line: $message"
  else
    IFS=';' read -ra parts <<<"$expected"
    for part in "${parts[@]}"; do
      part=${part# }
      [[ $message == *"$part"* ]] || problem="no '$part' in: $message"
    done
  fi
  report "glim $words" "$problem"
done <"$list"
report "a hundred of them" "$([ $passed -ge 100 ] || [ $failed -gt 0 ] || echo "$passed")"
report "nothing is left behind" "$([ "$before" = "$(ls)" ] || ls)"
summary
