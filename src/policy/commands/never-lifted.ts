/**
 * What no rule of a user may allow on the read-only surfaces: programs that run other programs or a language of their own, that write, or
 * that stop and change machines; and words that name secrets. A person who needs them has a shell.
 */
const programs: ReadonlySet<string> = new Set([
  ...['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'fish', 'busybox', 'toybox', 'env', 'xargs', 'sudo', 'su', 'doas', 'pkexec', 'runuser', 'chroot', 'nsenter', 'unshare', 'setpriv'],
  ...['eval', 'exec', 'source', '.', 'command', 'builtin', 'trap', 'alias', 'script', 'expect', 'screen', 'tmux', 'nohup', 'setsid', 'timeout', 'nice', 'ionice', 'stdbuf', 'strace', 'ltrace', 'gdb', 'watch', 'time', 'parallel'],
  ...['awk', 'gawk', 'mawk', 'nawk', 'sed', 'perl', 'python', 'python2', 'python3', 'ruby', 'node', 'php', 'lua', 'tclsh', 'vi', 'vim', 'ed', 'ex', 'emacs', 'nano', 'less', 'more', 'man'],
  ...['rm', 'rmdir', 'mv', 'cp', 'ln', 'dd', 'tee', 'truncate', 'shred', 'chmod', 'chown', 'chgrp', 'install', 'touch', 'mkdir', 'mknod', 'mkfifo', 'rsync', 'tar', 'unzip', 'split', 'patch', 'sponge'],
  ...['mkfs', 'mke2fs', 'mkswap', 'fdisk', 'sfdisk', 'sgdisk', 'parted', 'wipefs', 'blkdiscard', 'hdparm', 'lvremove', 'vgremove', 'pvremove', 'cryptsetup', 'losetup', 'mount', 'umount', 'swapoff', 'swapon'],
  ...['reboot', 'shutdown', 'poweroff', 'halt', 'init', 'telinit', 'kexec', 'kill', 'killall', 'pkill', 'modprobe', 'insmod', 'rmmod', 'sysctl', 'iptables', 'ip6tables', 'nft', 'ifup', 'ifdown', 'ifreload'],
  ...['ssh', 'scp', 'sftp', 'nc', 'ncat', 'netcat', 'socat', 'curl', 'wget', 'telnet', 'ftp', 'mail', 'crontab', 'at', 'batch', 'systemd-run', 'useradd', 'usermod', 'userdel', 'passwd', 'visudo'],
  ...['apt', 'apt-get', 'dpkg', 'rpm', 'dnf', 'yum', 'pip', 'npm', 'npx', 'docker', 'podman', 'kubectl', 'strings', 'xxd', 'base64', 'hexdump', 'od'],
]);

const secretWord = /(?:^|[/=:])(?:etc\/pve\/(?:.*\/)?priv|etc\/(?:g?shadow|sudoers|ssl\/private|ssh\/ssh_host)|root\/\.|home\/[^/]+\/\.|proc\/(?:\d+|self|thread-self)\/|dev\/(?:mem|kmem|port|sd|nvme|vd|dm-|tcp|udp))/;

/** Whether the decoded words of a command must stay refused, whatever a user's rule says. */
export function isNeverLifted(words: readonly string[]): boolean {
  const [program = '', ...rest] = words;
  if (program.includes('/') || programs.has(program) || /^(?:mkfs|fsck)\./.test(program)) return true;
  return rest.some((word) => secretWord.test(word) || /(?:^|\/)\.\.(?:\/|$)/.test(word));
}
