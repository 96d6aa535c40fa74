/** Programs that a developer's command never runs here, by what they do. A name decides: whatever the options. */

import { words } from './words.ts';

const groups: Readonly<Record<string, readonly string[]>> = {
  privilege: words(
    'sudo sudoedit su doas pkexec runuser sg newgrp nsenter unshare chroot capsh setpriv setcap visudo passwd chpasswd usermod useradd userdel adduser deluser groupadd groupmod groupdel addgroup gpasswd chsh chfn vipw vigr run0 machinectl bwrap firejail proot fakeroot dzdo please gosu su-exec chown chgrp setfacl chattr aa-exec dscl',
  ),
  'system-control': words(
    'shutdown reboot halt poweroff init telinit systemctl service loginctl timedatectl hostnamectl localectl journalctl sysctl modprobe insmod rmmod kexec swapon swapoff mount umount kill killall pkill skill xkill iptables ip6tables nft ufw firewall-cmd ip ifconfig route brctl tc launchctl renice chrt wall setterm hwclock update-alternatives update-rc.d rc-service initctl sv bootctl efibootmgr grub-install rfkill nmcli resolvectl networkctl udevadm dmsetup prlimit taskkill wmic reg netsh schtasks sc powershell pwsh osascript defaults',
  ),
  disk: words(
    'dd_rescue mkfs mke2fs mkswap mkdosfs wipefs fdisk sfdisk cfdisk gdisk sgdisk parted partprobe blkdiscard losetup cryptsetup format diskutil diskpart hdparm nvme smartctl badblocks debugfs tune2fs resize2fs e2fsck fsck xfs_repair btrfs zfs zpool mdadm lvm lvcreate lvremove lvresize vgcreate vgremove pvcreate pvremove fstrim hdiutil mknod eject sdparm sg_format flashrom',
  ),
  daemon: words(
    'systemd-run crontab at batch atd cron crond anacron screen tmux byobu dtach abduco setsid nohup daemonize start-stop-daemon disown coproc bg sshd httpd nginx apache2 caddy lighttpd redis-server valkey-server memcached mysqld mariadbd postgres pg_ctl mongod rabbitmq-server dockerd containerd supervisord pm2 forever nodemon http-server serve live-server watchman inotifywait entr ngrok cloudflared localtunnel lt webhook websocketd gunicorn uvicorn hypercorn waitress-serve puma unicorn thin php-fpm vncserver x11vnc Xvfb dbus-daemon avahi-daemon streamlit gradio jupyter-lab jupyter-notebook jupyter-server airflow celery superset mlflow tensorboard ttyd gotty code-server json-server prism wiremock localstack minio mailhog grafana-server prometheus telegraf etcd consul nomad zookeeper-server-start kafka-server-start elasticsearch opensearch influxd clickhouse-server mysqld_safe php-cgi spawn-fcgi fcgiwrap webpack-dev-server watchexec watchmedo reflex chokidar onchange air fswatch rackup foreman hivemind overmind sidekiq resque guard ts-node-dev tsc-watch browser-sync sphinx-autobuild ptw pytest-watch anvil ganache solana-test-validator fastapi locust irb pry ipython bpython iex',
  ),
  debugger: words(
    'gdb gdbserver lldb lldb-server strace ltrace dtrace bpftrace perf dlv ndb rr valgrind jdb jstack jmap jcmd pdb ipdb debugpy rdbg byebug pudb py-spy chromium chromium-browser google-chrome chrome firefox msedge electron gcore reptyr sysdig tcpdump wireshark tshark dumpcap node-inspect windbg cdb frida r2',
  ),
  secrets: words(
    'security secret-tool keyctl kwallet-query gnome-keyring gpg gpg2 gpg-connect-agent ssh-add ssh-agent ssh-keygen ssh-keyscan pass op bw lpass vault chamber aws-vault cmdkey certutil wl-paste xclip xsel pbpaste pbcopy wl-copy getent dmidecode last lastlog history fc showkey import scrot grim dotenv dotenvx dotenv-cli env-cmd sops age git-crypt',
  ),
  mining: words(
    'xmrig xmr-stak minerd cpuminer cpuminer-multi cgminer bfgminer ethminer nbminer lolMiner phoenixminer t-rex gminer teamredminer claymore srbminer wildrig monerod p2pool nicehash kinsing',
  ),
  containers: words(
    'docker docker-compose podman podman-compose nerdctl ctr crictl buildah skopeo lxc lxd incus runc crun kubectl oc k3s minikube kind vagrant virsh qemu-img qemu-system-x86_64 VBoxManage multipass systemd-nspawn flatpak snap distrobox toolbox wsl wslpath cmd.exe explorer.exe',
  ),
  packages: words(
    'apt apt-get aptitude apt-key add-apt-repository dpkg dpkg-reconfigure rpm yum dnf zypper pacman yay apk brew port nix nix-env nix-shell emerge choco winget scoop pkg pkgutil installer alien',
  ),
};

/** Programs whose purpose is the network: they ask, and a person may grant it. */
const networkPrograms: ReadonlySet<string> = new Set(
  words(
    'curl wget nc netcat ncat socat ssh scp sftp telnet ftp lftp tftp aria2c axel lynx links links2 elinks w3m http https httpie xh curlie hey ab wrk siege vegeta k6 dig nslookup host drill delv whois ping ping6 fping hping3 traceroute tracepath mtr arping nmap masscan zmap arp-scan rclone s3cmd aws az gcloud gsutil doctl heroku vercel netlify firebase flyctl fly railway wrangler serverless sls cdk pulumi ansible ansible-galaxy ansible-playbook gh glab hub svn hg bzr cvs fossil mail mailx sendmail mutt swaks msmtp youtube-dl yt-dlp mosh rsh rlogin rcp autossh sshpass sshfs smbclient mount.nfs ldapsearch snmpwalk mysql psql redis-cli valkey-cli mongosh mongo mosquitto_pub kcat grpcurl websocat wscat torsocks tor proxychains proxychains4 openvpn wg wg-quick tailscale zerotier-cli transmission-cli ipfs croc magic-wormhole wormhole uvx pipx cpan cpanm luarocks conda mamba nvm fnm volta pyenv rbenv rustup sdk asdf mise corepack ollama huggingface-cli dotnet-install release-it semantic-release np gh-pages bumpp cap kamal fastlane sentry-cli codecov snyk chromatic percy rover supabase eas pod carthage',
  ),
);

const refusedBy: ReadonlyMap<string, string> = new Map(
  Object.entries(groups).flatMap(([group, programs]) => programs.map((program): [string, string] => [program, group])),
);

/** The rule that refuses the program, or undefined. */
export function refusalGroup(program: string): string | undefined {
  return refusedBy.get(program) ?? (/^(?:mkfs|fsck|mount|umount)\./.test(program) ? 'disk' : undefined);
}

export function needsNetwork(program: string): boolean {
  return networkPrograms.has(program);
}
