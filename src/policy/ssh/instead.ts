/** What to do instead of what is refused most: a sentence for the model, by the program, and by its verb or option. */

interface Advice {
  readonly programs: string;
  /** One of these words stands behind; absent: whatever does. */
  readonly words?: string;
  readonly instead: string;
}

const advice: readonly Advice[] = [
  {
    programs: 'systemctl service',
    words: 'restart start stop reload try-restart reload-or-restart',
    instead: 'use the tool restart_service',
  },
  {
    programs: 'systemctl',
    words: 'cat edit show-environment',
    instead: 'read a unit of the system below /usr/lib/systemd/system, or `systemctl show -p NAME UNIT`',
  },
  {
    programs: 'qm pct',
    words: 'start stop shutdown reboot reset suspend resume snapshot rollback delsnapshot clone migrate',
    instead: 'use the tools for guests (start, stop, restart, snapshots)',
  },
  {
    programs: 'qm pct',
    words: 'enter exec console terminal monitor guest',
    instead: 'nothing runs inside guests from here; `qm guest cmd VMID get-osinfo` and the like are taken',
  },
  { programs: 'pvesh', words: 'create set delete usage', instead: 'changes go through the other tools; `pvesh get PATH` reads' },
  { programs: 'pveum', instead: 'accounts and permissions are not shown here; a person looks in the web interface' },
  { programs: 'sudo doas su', instead: 'leave it out: the commands that are taken need no other account' },
  {
    programs: 'bash sh dash zsh env timeout nice nohup xargs command exec eval time stdbuf setsid',
    instead: 'give the command itself; each has a time limit already',
  },
  { programs: 'for while if until case', instead: 'name each file or device in a command of its own, joined by `;`' },
  {
    programs: 'watch htop atop nmon glances tcpdump journalctl-f',
    instead: 'run a command that ends, such as `top -bn1` or `vmstat 1 5`, and run it again',
  },
  { programs: 'journalctl tail dmesg', words: '-f -F -w --follow -fu', instead: 'read the last lines with `-n 100`, and run it again' },
  { programs: 'less more most vi vim nano view man', instead: 'read with `cat`, `head -n 100` or `tail -n 100`' },
  { programs: 'ssh scp rsync curl wget nc', instead: 'name the node in the call; nothing is fetched from the network' },
  { programs: 'reboot shutdown poweroff halt init', instead: 'a person does that' },
  { programs: 'python python3 perl ruby node php', instead: 'filter with `grep`, `awk`, `sed` or `jq` behind a pipe' },
  {
    programs: 'apt apt-get aptitude',
    words: 'update upgrade dist-upgrade full-upgrade install remove purge autoremove',
    instead: 'a person upgrades; `apt list --upgradable` shows what is there',
  },
  {
    programs: 'cat grep head tail less',
    words: '/etc/pve/user.cfg /etc/passwd /etc/shadow /etc/pve/domains.cfg',
    instead: 'accounts and secrets are not read here',
  },
];

/** What to do instead of the command, for the end of a refusal; undefined where there is nothing to say. */
export function instead(words: readonly string[]): string | undefined {
  const [program = '', ...rest] = words;
  const fits = ({ programs, words: wanted }: Advice) =>
    programs.split(' ').includes(program) && (wanted === undefined || rest.some((word) => wanted.split(' ').includes(word)));
  return advice.find(fits)?.instead;
}
