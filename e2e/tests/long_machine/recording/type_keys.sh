#!/bin/bash
# type_keys.sh FOLDER: types the lines of FOLDER/keys into a shell on a terminal of its own, as a person
# would, and records what the terminal shows: FOLDER/screen, and FOLDER/timing with a line for every write,
# its delay and its bytes (script(1)). A line is typed when the prompt after the one before is there.
set -eu
cd "$1"
export TERM=xterm HISTFILE= PROMPT_COMMAND='echo >>prompts'
printf '%s\n' 'stty cols 100 rows 30' 'PS1="# "' 'bind "set bell-style none"' \
	'bind "set enable-bracketed-paste off"' >shell
mkfifo input
touch prompts
script --quiet --flush --log-out screen --log-timing timing --logging-format classic \
	--command 'bash --noprofile --rcfile shell -i' <input >/dev/null &
exec 3>input

wanted=1
await_prompt() {
	until [ "$(wc -l <prompts)" -ge $wanted ]; do sleep 0.1; done
	wanted=$((wanted + 1))
	sleep 1
}

while IFS= read -r line; do
	await_prompt
	while IFS= read -r -n 1 -d '' key; do
		printf %s "$key" >&3
		# After Tab a person looks at what is offered.
		case $key in $'\t') sleep 1.5 ;; *) sleep 0.07 ;; esac
	done < <(printf %s "$line")
	printf '\r' >&3
done <keys
await_prompt
exec 3>&-
wait
