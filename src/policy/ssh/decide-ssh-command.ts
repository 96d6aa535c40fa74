/** The `ssh` surface: read-only diagnostics on cluster nodes. Default deny; strictest wins. */

import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import { say } from '#kernel/text/message';
import { fitsUserRule, type UserRule, userDecision } from '../user-rules.ts';
import { canonicalLine, type Dialect, type Pipeline, type Refusal, type SimpleCommand, type Word } from './line.ts';
import { matchPage } from './match-page.ts';
import type { Page } from './page.ts';
import { sshPages } from './pages/index.ts';
import { readStrictLine } from './read-line.ts';

const dialect: Dialect = { nonAscii: false, limits: { length: 2_000, words: 64, commands: 12 } };

const pageOf: ReadonlyMap<string, Page> = new Map(sshPages.flatMap(([names, page]) => names.map((name) => [name, page])));

export interface CommandDecision {
  readonly decision: Decision;
  /** Only where it may run: the re-quoted text that runs instead of the caller's. */
  readonly canonical?: string;
}

interface Judged {
  readonly decision: Decision;
  /** The words that name files: only there a pattern stays one. */
  readonly files: readonly Word[];
}

/**
 * Whether `text` may run on a node, and the canonical POSIX shell text that runs instead of it. Pure and synchronous.
 * Refusals name the place and the construct, and what to do instead.
 */
export function decideSshCommand(text: string, userRules: readonly UserRule[] = []): CommandDecision {
  const read = readStrictLine(text, dialect);
  if (!read.ok) {
    const { decision } = refused(read, 'ssh.syntax', text.trim().split(/\s+/));
    return { decision };
  }
  const own = userRules.filter((rule) => rule.surface === 'ssh');
  const judged = read.pipelines.flatMap(({ commands }) => commands.map((command, index) => judge(command, index > 0, own)));
  const worst = strictest(judged.map(({ decision }) => decision));
  const decision = { ...worst, rules: [...new Set([...worst.rules, ...judged.flatMap((entry) => entry.decision.rules)])] };
  return decision.effect === 'deny' ? { decision } : { decision, canonical: canonicalLine(settle(read.pipelines, judged)) };
}

function judge(command: SimpleCommand, piped: boolean, userRules: readonly UserRule[]): Judged {
  const words = command.words.map((word) => word.text);
  const users = userRules.filter((rule) => fitsUserRule(rule, words));
  const stricter = users.filter((rule) => rule.effect !== 'allow').map(userDecision);
  const built = byPage(command, piped);
  const mayLift = built.decision.effect === 'deny' && command.words[0]?.bare === true && !isNeverLifted(words);
  const lifted = mayLift ? users.find((rule) => rule.effect === 'allow') : undefined;
  if (lifted !== undefined) return { files: [], decision: strictest([userDecision(lifted), ...stricter]) };
  return { ...built, decision: strictest([built.decision, ...stricter]) };
}

function byPage({ words: [name, ...rest] }: SimpleCommand, piped: boolean): Judged {
  if (name === undefined) throw new RangeError('a command has a name');
  const words = [name, ...rest].map((word) => word.text);
  const page = name.bare ? pageOf.get(name.text) : undefined;
  if (page === undefined) return refused({ offset: name.offset, message: unknownProgram(name) }, 'default-deny', words);
  const rule = `ssh.${name.text}`;
  const why = `\`${name.text}\`: ${page.why}`;
  if (!piped && asksForHelp(page, rest)) return { files: [], decision: allow('allowed', why, [rule]) };
  const match = matchPage(page, name, rest, piped);
  if (!match.ok) return refused(match, rule, words);
  const decision =
    match.ask === undefined ? allow('allowed', why, [rule]) : ask('confirmation_required', say`\`${name.text}\`: ${match.ask}`, [rule]);
  return { files: match.files, decision };
}

/** Alone, these print and end in every program of the pages. A program of which the page names no word may take no notice of them. */
function asksForHelp({ flags, options, operands, verbs }: Page, rest: readonly Word[]): boolean {
  const takesWords = flags !== undefined || options !== undefined || operands !== undefined || verbs !== undefined;
  return takesWords && rest.length === 1 && ['--version', '--help'].includes(rest[0]?.text ?? '');
}

function unknownProgram(name: Word): string {
  if (!name.bare) return 'a program name with quotes, backslashes or a pattern';
  if (name.text.includes('/')) return `\`${name.text.slice(0, 60)}\`: a program named by a path is not the known one`;
  if (name.text.includes('=')) return 'an assignment, which would change how programs run';
  const near = [...pageOf.keys()].filter((known) => known.slice(0, 2) === name.text.slice(0, 2)).slice(0, 8);
  const said = near.length === 0 ? 'such as `df`, `journalctl`, `qm config`' : `of which these begin alike: ${near.join(', ')}`;
  return `\`${name.text.slice(0, 60)}\`, which is not among the ${pageOf.size} known programs that only show, ${said}`;
}

/** Characters are counted from 1, as people do. */
function refused({ offset, message }: Omit<Refusal, 'ok'>, rule: string, words: readonly string[]): Judged {
  const reason = [`refused at character ${offset + 1}: ${message}`, instead(words)].filter((part) => part !== undefined).join('; ');
  return { decision: deny('COMMAND_BLOCKED', reason, [rule]), files: [] };
}

/** A pattern stays one only where a file may stand; anywhere else it is the text that it looks like. */
function settle(pipelines: readonly Pipeline[], judged: readonly Judged[]): readonly Pipeline[] {
  const files = new Set(judged.flatMap((entry) => entry.files));
  const settleWord = (word: Word): Word =>
    word.glob === undefined || files.has(word) ? word : { text: word.text, offset: word.offset, bare: false };
  const settleCommand = (command: SimpleCommand): SimpleCommand => ({ ...command, words: command.words.map(settleWord) });
  return pipelines.map((pipeline) => ({ ...pipeline, commands: pipeline.commands.map(settleCommand) }));
}

// What to do instead of what is refused most: a sentence for the model, by the program, and by its verb or option.

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
    words: 'edit show-environment',
    instead: 'read a unit with `systemctl cat UNIT`, or `systemctl show -p NAME UNIT`',
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
  { programs: 'pveum', instead: '`pveum user list`, `group list`, `acl list` and `role list` show what there is' },
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
  { programs: 'ssh scp rsync wget', instead: 'name the node in the call; `curl -sI URL` asks a web server' },
  { programs: 'reboot shutdown poweroff halt init', instead: 'a person does that' },
  { programs: 'python python3 perl ruby node php', instead: 'filter with `grep`, `awk`, `sed` or `jq` behind a pipe' },
  {
    programs: 'apt apt-get aptitude',
    words: 'update upgrade dist-upgrade full-upgrade install remove purge autoremove',
    instead: 'a person upgrades; `apt list --upgradable` shows what is there',
  },
  {
    programs: 'cat grep head tail less',
    words: '/etc/pve/user.cfg /etc/shadow /etc/pve/domains.cfg',
    instead: 'accounts and secrets are not read here',
  },
];

/** What to do instead of the command, for the end of a refusal; undefined where there is nothing to say. */
function instead(words: readonly string[]): string | undefined {
  const [program = '', ...rest] = words;
  const fits = ({ programs, words: wanted }: Advice) =>
    programs.split(' ').includes(program) && (wanted === undefined || rest.some((word) => wanted.split(' ').includes(word)));
  return advice.find(fits)?.instead;
}

/**
 * What no rule of a person may allow over ssh: programs that run other programs or a language of their own, that write, or that stop and
 * change machines; and words that name secrets. A person who needs them has a shell.
 */
const programs: ReadonlySet<string> = new Set(
  [
    'sh bash dash zsh ksh ash fish busybox toybox env xargs sudo su doas pkexec runuser chroot nsenter unshare setpriv',
    'eval exec source . command builtin trap alias script flock expect screen tmux nohup setsid timeout nice ionice stdbuf unbuffer',
    'chronic xvfb-run strace ltrace gdb watch time parallel',
    'awk gawk mawk nawk sed perl python python2 python3 ruby node php lua tclsh vi vim ed ex emacs nano less more man',
    'rm rmdir mv cp ln dd tee truncate shred chmod chown chgrp install touch mkdir mknod mkfifo rsync tar unzip split patch sponge',
    'mkfs mke2fs mkswap fdisk sfdisk sgdisk parted wipefs blkdiscard hdparm lvremove vgremove pvremove cryptsetup losetup mount umount',
    'swapoff swapon',
    'reboot shutdown poweroff halt init telinit kexec kill killall pkill modprobe insmod rmmod sysctl iptables ip6tables nft ifup',
    'ifdown ifreload',
    'ssh scp sftp nc ncat netcat socat curl wget telnet ftp mail crontab at batch systemd-run useradd usermod userdel passwd visudo',
    'apt apt-get dpkg rpm dnf yum pip npm npx docker podman kubectl strings xxd base64 hexdump od',
  ].flatMap((names) => names.split(' ')),
);

const secretPlaces = [
  'etc/pve/(?:.*/)?priv',
  'etc/(?:g?shadow|sudoers|ssl/private|ssh/ssh_host)',
  'root/\\.',
  'home/[^/]+/\\.',
  'proc/(?:\\d+|self|thread-self)/',
  'dev/(?:mem|kmem|port|sd|nvme|vd|dm-|tcp|udp)',
];
const secretWord = new RegExp(`(?:^|[/=:])(?:${secretPlaces.join('|')})`);

/** Whether the decoded words of a command must stay refused, whatever a user's rule says. */
function isNeverLifted(words: readonly string[]): boolean {
  const [program = '', ...rest] = words;
  if (program.includes('/') || programs.has(program) || /^(?:mkfs|fsck)\./.test(program)) return true;
  return rest.some((word) => secretWord.test(word) || /(?:^|\/)\.\.(?:\/|$)/.test(word));
}
