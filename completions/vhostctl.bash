# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Completion of vhostctl(8) for bash 4.2 and later; it needs nothing of bash-completion but to be loaded.
#
# What there is to complete comes from the program: commands, options and what each takes from
# --dump-options, running VMs with their devices, taps, queues and workers from --dump-targets.
# What an operand is called there (TARGET, FILE, ...) decides in _vhostctl_values what it is completed to.

# The program as it was typed, or as root would find it.
_vhostctl_run() {
	local PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
	if type -P -- "$program" >/dev/null; then
		command -- "$program" "$@" 2>/dev/null
	else
		command vhostctl "$@" 2>/dev/null
	fi
}

# Cuts $1 into words as the shell will see them: words[], the last one being typed. Sets $from to where that
# one begins in $1, $quote to the quote that is open at the end, and $redirect if it is a redirection's.
_vhostctl_split() {
	local line=$1 c word='' begun='' skip='' i
	words=() quote='' redirect='' from=0
	for ((i = 0; i < ${#line}; i++)); do
		c=${line:i:1}
		if [[ $quote == "'" ]]; then
			if [[ $c == "'" ]]; then quote=''; else word+=$c; fi
		elif [[ $quote == '"' ]]; then
			case $c in
			'"') quote='' ;;
			\\)
				if [[ ${line:i+1:1} == [\"\\\$\`] ]]; then i=$((i + 1)); fi
				word+=${line:i:1}
				;;
			*) word+=$c ;;
			esac
		else
			case $c in
			[[:blank:]] | [\<\>])
				# The number of a redirected file is no word.
				if [[ $begun && ! $skip && ! ($c == [\<\>] && $word == +([0-9])) ]]; then words+=("$word"); fi
				if [[ $begun ]]; then skip=''; fi
				word='' begun='' from=$((i + 1))
				if [[ $c == [\<\>] ]]; then skip=1; fi
				continue
				;;
			[\'\"]) quote=$c ;;
			\\)
				i=$((i + 1))
				word+=${line:i:1}
				;;
			*) word+=$c ;;
			esac
		fi
		begun=1
	done
	redirect=$skip
	words+=("$word")
}

# Which of the files or words $@ begin as $word does, into found[]; $stem, which is typed already, goes before each.
_vhostctl_offer() {
	local item
	for item; do
		if [[ $stem$item == "$word"* ]]; then found+=("$stem$item"); fi
	done
}

# Targets that begin with $1, of the kinds $2..., and where there are none yet, what leads to them.
_vhostctl_targets() {
	local typed=$1 kind text line kinds
	local -a step=() end=()
	shift
	kinds=" $* "
	while IFS=$'\t' read -r kind text; do
		if [[ $kinds == *" $kind "* ]]; then
			end+=("$text")
		elif [[ $kind == @(vm|pid|device) ]]; then
			step+=("$text")
		fi
	done < <(_vhostctl_run --dump-targets "$typed")
	if ((${#end[@]})); then
		_vhostctl_offer "${end[@]}"
	elif ((${#step[@]})); then
		_vhostctl_offer "${step[@]}"
	fi
}

# Workers of the device in the operands, of the kinds $@.
_vhostctl_workers() {
	local kind text kinds=" $* "
	((${#given[@]})) || return 0
	while IFS=$'\t' read -r kind text; do
		if [[ $kinds == *" $kind "* ]]; then _vhostctl_offer "$text"; fi
	done < <(_vhostctl_run --dump-targets "${given[0]}")
}

# Queues of the device in the operands; of a list the last one.
_vhostctl_queues() {
	local kind text device
	((${#given[@]})) || return 0
	device=${given[0]}/
	while IFS=$'\t' read -r kind text; do
		if [[ $kind == queue ]]; then _vhostctl_offer "${text#"$device"}"; fi
	done < <(_vhostctl_run --dump-targets "$device${word#"$stem"}")
}

# The names of the files $@.
_vhostctl_files() {
	local file
	for file; do
		if [[ -e $file ]]; then _vhostctl_offer "${file##*/}"; fi
	done
}

# A tap of a VM, or "dev IFNAME [netns NAME|PID]"; then what follows it, as $1 calls it.
_vhostctl_tap() {
	local n=${#given[@]}
	if ((n == 0)); then
		_vhostctl_targets "$word" vm pid tap
		if [[ $word ]]; then _vhostctl_offer dev; fi
	elif [[ ${given[0]} == dev ]] && ((n == 1)); then
		_vhostctl_files /sys/class/net/*
	elif [[ ${given[0]} == dev ]] && ((n == 3)); then
		_vhostctl_files /run/netns/*
	else
		if [[ ${given[0]} == dev ]] && ((n == 2)); then _vhostctl_offer netns; fi
		if [[ $1 == N ]] && ((n == 1 || n == 2 || n == 4)); then _vhostctl_offer 0 16 32 64; fi
	fi
}

# What is typed is called $1 in the usage of $path.
_vhostctl_values() {
	case $1 in
	VM | NAME) _vhostctl_targets "${word#"$stem"}" vm pid ;;
	TARGET)
		case $path in
		'worker attach') _vhostctl_targets "$word" queue ;;
		'worker list') _vhostctl_targets "$word" vm pid device tap queue ;;
		worker\ *) _vhostctl_targets "$word" device ;;
		*) _vhostctl_targets "$word" vm pid device tap queue ;;
		esac
		;;
	QUEUES) _vhostctl_queues ;;
	ID)
		if [[ $path == 'worker free' ]]; then
			_vhostctl_workers idle
		else
			_vhostctl_workers worker idle
		fi
		;;
	CPULIST | LIST)
		local online=''
		{ read -r online </sys/devices/system/cpu/online; } 2>/dev/null
		if [[ $online ]]; then _vhostctl_offer "$online"; fi
		;;
	USECS) _vhostctl_offer off 10 20 50 100 ;;
	SOURCE) _vhostctl_offer snapshot owner ;;
	SETTING) _vhostctl_offer busyloop= rx-frames= workers= ;;
	FILE) files=1 ;;
	esac
}

# Names of the commands in $1, '' for the program's own.
_vhostctl_commands() {
	local name rest
	local -A seen=()
	for name in "${commands[@]}"; do
		rest=${name#"${1:+$1 }"}
		if [[ $1 && $rest == "$name" ]]; then continue; fi
		rest=${rest%% *}
		if [[ ! ${seen[$rest]-} ]]; then _vhostctl_offer "$rest"; fi
		seen[$rest]=1
	done
}

# What the next operand can be by the usage $1, such as "TARGET ID... CPULIST" or "TARGET [INTERVAL [COUNT]]".
_vhostctl_operands() {
	local -a names
	local i n=${#given[@]}
	read -ra names <<<"${1//[\[\]]/}"
	for ((i = 0; i < ${#names[@]}; i++)); do
		if [[ ${names[i]} == *... ]]; then
			# It, or once it is there what follows it.
			if ((n >= i)); then _vhostctl_values "${names[i]%...}"; fi
			if ((n > i)) && [[ ${names[i+1]-} ]]; then _vhostctl_values "${names[i+1]}"; fi
			return
		elif ((n == i)); then
			_vhostctl_values "${names[i]}"
		fi
	done
}

# Reads --dump-options: commands[], groups[/GROUP], usage[/COMMAND], options[/COMMAND] and takes["COMMAND OPTION"],
# where '-' is for all commands. An empty key is none, hence the slash.
_vhostctl_table() {
	local command option value
	while IFS=$'\t' read -r command option value; do
		if [[ $option == - ]]; then
			commands+=("$command")
			usage[/$command]=${value#-}
			if [[ $command == *\ * ]]; then groups[/${command%% *}]=1; fi
		else
			options[/$command]+="$option "
			takes["$command $option"]=${value#-}
		fi
	done < <(_vhostctl_run --dump-options)
}

# Sets $value to what the option $1 of $path takes, '' for nothing.
_vhostctl_takes() {
	value=${takes["$path $1"]-${takes["- $1"]-}}
}

# Goes through the words before the one that is typed: sets $path to the command, given[] to its operands,
# $value to what an option before the last word takes, $ended once "--" was there. Fails at what is no command.
_vhostctl_walk() {
	local i w
	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		w=${words[i]}
		if [[ $value ]]; then
			value=''
		elif [[ ! $ended && $w == -- ]]; then
			ended=1
		elif [[ ! $ended && $w == --?* ]]; then
			if [[ $w != *=* ]]; then _vhostctl_takes "$w"; fi
		elif [[ ! $ended && $w == -?* ]]; then
			_vhostctl_takes "-${w: -1}"
		elif [[ ${usage[/$path]+known} ]]; then
			given+=("$w")
		else
			path=${path:+$path }$w ended=''
			[[ ${usage[/$path]+known} || ${groups[/$path]-} ]] || return
		fi
	done
}

# Answers with found[]: without the part of the word that stays ($1), quoted as the rest of it is.
_vhostctl_reply() {
	local stays=$1 quote=$2 item text
	for item in ${found[@]+"${found[@]}"}; do
		text=${item:${#stays}}
		case $quote in
		"'") text=${text//\'/\'\\\'\'} ;;
		'"')
			text=${text//\\/\\\\} text=${text//\"/\\\"} text=${text//\$/\\\$} text=${text//\`/\\\`}
			# Of the history's character a backslash would stay within the quotes.
			if [[ $- == *H* ]]; then text=${text//\!/\"\\\!\"}; fi
			;;
		*) if [[ $text ]]; then printf -v text %q "$text"; fi ;;
		esac
		COMPREPLY+=("$text")
	done
}

_vhostctl() {
	local program=$1 typed=${2-} word raw quote redirect from stem='' path='' value='' ended='' files=''
	local -a words found=() given=() commands=()
	local -A groups=() usage=() options=() takes=()
	COMPREPLY=()
	_vhostctl_table
	_vhostctl_split "${COMP_LINE:0:COMP_POINT}"
	raw=${COMP_LINE:from:COMP_POINT - from}
	word=${words[${#words[@]} - 1]}

	if [[ $redirect ]]; then
		files=1
	elif ! _vhostctl_walk; then
		return 0
	elif [[ $value ]]; then
		_vhostctl_values "$value"
	elif [[ ! $ended && $word == --*=* ]]; then
		stem=${word%%=*}=
		_vhostctl_takes "${word%%=*}"
		_vhostctl_values "$value"
	elif [[ ! $ended && $word == -* ]]; then
		# shellcheck disable=SC2086 # words
		_vhostctl_offer ${options[/$path]-} ${options[/-]-}
	elif [[ ! ${usage[/$path]+known} ]]; then
		_vhostctl_commands "$path"
	elif [[ $path == coalesce\ * ]]; then
		_vhostctl_tap "${usage[/$path]##* }"
	elif [[ $path == help ]]; then
		_vhostctl_commands "${given[*]-}"
	else
		_vhostctl_operands "${usage[/$path]}"
	fi
	if [[ $files ]]; then
		compopt -o default
		return 0
	fi

	# readline replaces $typed, which begins at the last quote or, outside of quotes, at a character of
	# COMP_WORDBREAKS; what is before it stays.
	if [[ $raw == *"$typed" ]]; then
		_vhostctl_split "${raw:0:${#raw} - ${#typed}}"
		_vhostctl_reply "${words[${#words[@]} - 1]}" "$quote"
	else
		_vhostctl_reply '' ''
	fi
	if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}

complete -o nosort -F _vhostctl vhostctl 2>/dev/null || complete -F _vhostctl vhostctl
