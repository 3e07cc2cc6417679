#compdef schedctl
# Completion of schedctl for zsh. schedctl itself answers, in less than a second.
_schedctl() {
    local -a lines candidates
    local line
    lines=("${(@f)$(schedctl __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
    if [[ ${lines[1]} == files ]]; then
        _files
        return
    fi
    for line in "${(@)lines[2,-1]}"; do
        candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    _describe -V schedctl candidates
}
if [[ ${funcstack[1]} == _schedctl ]]; then
    _schedctl "$@"
else
    compdef _schedctl schedctl
fi
