# Completion of schedctl for fish. schedctl itself answers, in less than a second.
function __schedctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines (schedctl __complete -- $words[2..-1] "$current" 2>/dev/null </dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$current"
    else
        printf '%s\n' $lines[2..-1]
    end
end
complete -c schedctl -f -a '(__schedctl_complete)'
