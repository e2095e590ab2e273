# bash completion for kwsim
_kwsim()
{
    local cur prev words cword split
    _init_completion -s || return
    case $prev in
        --backend) mapfile -t COMPREPLY < <(compgen -W 'auto cpu cuda' -- "$cur"); return ;;
        --precision) mapfile -t COMPREPLY < <(compgen -W 'single double' -- "$cur"); return ;;
        -o | --output | --write-kwave) _filedir h5; return ;;
        --set | --steps | --threads | --device) return ;;
    esac
    $split && return
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--output= --set= --steps= --dry-run --force --backend= --precision=
            --threads= --device= --list-backends --quiet --verbose --no-progress --write-kwave= --kwave --help --usage --version' -- "$cur")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
        return
    fi
    _filedir '@(cfg|h5)'
} && complete -F _kwsim kwsim
