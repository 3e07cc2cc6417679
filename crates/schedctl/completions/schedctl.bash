# Completion of schedctl for bash 4 and later. schedctl itself answers, in less than a second.
_schedctl() {
    local -a lines
    local line
    COMPREPLY=()
    mapfile -t lines < <("$1" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
    if [[ ${lines[0]} == files ]]; then
        compopt -o default 2>/dev/null
        return
    fi
    for line in "${lines[@]:1}"; do
        COMPREPLY+=("${line%%$'\t'*}")
    done
}
complete -F _schedctl schedctl
