/** What a guest's configuration may hold, and what a backup takes, as the 9.1.5 schema declares it: one option a line. `of=`: a property string. */
export const parameterGroups = String.raw`
lxc
  arch string? enum=amd64|i386|arm64|armhf|riscv32|riscv64
  cmode string? enum=shell|console|tty
  console boolean?
  cores integer? minimum=1 maximum=8192
  cpulimit number? minimum=0 maximum=8192
  cpuunits integer? minimum=0 maximum=500000
  debug boolean?
  description string? maxLength=8192
  dev[n] string? of=dev
  entrypoint string? pattern=(?:[^\x00-\x08\x10-\x1F\x7F]+)
  env string? pattern=(?:(?:\w+=[^\x00-\x08\x10-\x1F\x7F]*)(?:\0\w+=[^\x00-\x08\x10-\x1F\x7F]*)*)
  features string? of=features
  hookscript string? format=pve-volume-id
  hostname string? maxLength=255 format=dns-name
  lock string? enum=backup|create|destroyed|disk|fstrim|migrate|mounted|rollback|snapshot|snapshot-delete
  memory integer? minimum=16
  mp[n] string? of=mp
  nameserver string?
  net[n] string? of=lxc-net
  onboot boolean?
  ostype string? enum=debian|devuan|ubuntu|centos|fedora|opensuse|archlinux|alpine|gentoo|nixos|unmanaged
  protection boolean?
  rootfs string? of=rootfs
  searchdomain string?
  startup string? format=pve-startup-order
  swap integer? minimum=0
  tags string? format=pve-tag-list
  template boolean?
  timezone string?
  tty integer? minimum=0 maximum=6
  unprivileged boolean?
  unused[n] string? of=lxc-unused
qemu
  acpi boolean?
  affinity string? format=pve-cpuset
  agent string? of=agent
  allow-ksm boolean?
  amd-sev string?
  arch string? enum=x86_64|aarch64
  args string?
  audio0 string? of=audio
  autostart boolean?
  balloon integer? minimum=0
  bios string? enum=seabios|ovmf
  boot string? format=pve-qm-boot
  bootdisk string? pattern=(ide|sata|scsi|virtio)\d+
  cdrom string?
  cicustom string?
  cipassword string?
  citype string? enum=configdrive2|nocloud|opennebula
  ciupgrade boolean?
  ciuser string?
  cores integer? minimum=1
  cpu string?
  cpulimit number? minimum=0 maximum=128
  cpuunits integer? minimum=1 maximum=262144
  description string? maxLength=8192
  efidisk0 string? of=efidisk
  freeze boolean?
  hookscript string? format=pve-volume-id
  hostpci[n] string?
  hotplug string?
  hugepages string? enum=any|2|1024
  ide[n] string? of=ide
  intel-tdx string?
  ipconfig[n] string?
  ivshmem string? of=ivshmem
  keephugepages boolean?
  keyboard string? enum=de|de-ch|da|en-gb|en-us|es|fi|fr|fr-be|fr-ca|fr-ch|hu|is|it|ja|lt|mk|nl|no|pl|pt|pt-br|sv|sl|tr
  kvm boolean?
  localtime boolean?
  lock string? enum=backup|clone|create|migrate|rollback|snapshot|snapshot-delete|suspending|suspended
  machine string? of=machine
  memory string? of=memory
  migrate_downtime number? minimum=0
  migrate_speed integer? minimum=0
  name string? format=dns-name
  nameserver string?
  net[n] string? of=net
  numa boolean?
  numa[n] string? of=numa
  onboot boolean?
  ostype string? enum=other|wxp|w2k|w2k3|w2k8|wvista|win7|win8|win10|win11|l24|l26|solaris
  parallel[n] string? pattern=/dev/parport\d+|/dev/usb/lp\d+
  protection boolean?
  reboot boolean?
  rng0 string?
  sata[n] string? of=sata
  scsi[n] string? of=scsi
  scsihw string? enum=lsi|lsi53c810|virtio-scsi-pci|virtio-scsi-single|megasas|pvscsi
  searchdomain string?
  serial[n] string? pattern=(/dev/.+|socket)
  shares integer? minimum=0 maximum=50000
  smbios1 string? maxLength=512
  smp integer? minimum=1
  sockets integer? minimum=1
  spice_enhancements string? of=spice_enhancements
  sshkeys string?
  startdate string? pattern=(now|\d{4}-\d{1,2}-\d{1,2}(T\d{1,2}:\d{1,2}:\d{1,2})?)
  startup string? format=pve-startup-order
  tablet boolean?
  tags string? format=pve-tag-list
  tdf boolean?
  template boolean?
  tpmstate0 string? of=tpmstate
  unused[n] string? of=unused
  usb[n] string? of=usb
  vcpus integer? minimum=1
  vga string? of=vga
  virtio[n] string? of=virtio
  virtiofs[n] string? of=virtiofs
  vmgenid string? pattern=(?:[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}|[01])
  vmstatestorage string? format=pve-storage-id
  watchdog string?
vzdump
  all boolean?
  bwlimit integer? minimum=0
  compress string? enum=0|1|gzip|lzo|zstd
  dumpdir string?
  exclude string? format=pve-vmid-list
  exclude-path array?
  fleecing string?
  ionice integer? minimum=0 maximum=8
  lockwait integer? minimum=0
  mailnotification string? enum=always|failure
  mailto string?
  mode string? enum=snapshot|suspend|stop
  notes-template string? maxLength=1024 requires=storage
  notification-mode string? enum=auto|legacy-sendmail|notification-system
  pbs-change-detection-mode string? enum=legacy|data|metadata
  performance string?
  pigz integer?
  pool string?
  protected boolean? requires=storage
  prune-backups string? format=prune-backups
  quiet boolean?
  remove boolean?
  script string?
  stdexcludes boolean?
  stop boolean?
  stopwait integer? minimum=0
  storage string? format=pve-storage-id
  tmpdir string?
  vmid string? format=pve-vmid-list
  zstd integer?
`;

/**
 * Values with a structure of their own (`local:8,format=qcow2`), as the 9.1.5 schema declares them: a name, and below it one key a line.
 * `+ name` takes over another's keys; `default`: its value may stand without the key.
 */
export const propertyStrings = String.raw`
agent
  enabled boolean default
  freeze-fs-on-backup boolean?
  fstrim_cloned_disks boolean?
  type string? enum=virtio|isa
audio
  device string enum=ich9-intel-hda|intel-hda|AC97
  driver string? enum=spice|none
bwlimit
  clone number? minimum=0
  default number? minimum=0
  migration number? minimum=0
  move number? minimum=0
  restore number? minimum=0
crs
  ha string? enum=basic|static
  ha-rebalance-on-start boolean?
dev
  deny-write boolean?
  gid integer? minimum=0
  mode string? pattern=0[0-7]{3}
  path string? default
  uid integer? minimum=0
drive
  aio string? enum=native|threads|io_uring
  backup boolean?
  bps integer?
  bps_max_length integer? minimum=1
  bps_rd integer?
  bps_rd_length string alias=bps_rd_max_length
  bps_rd_max_length integer? minimum=1
  bps_wr integer?
  bps_wr_length string alias=bps_wr_max_length
  bps_wr_max_length integer? minimum=1
  cache string? enum=none|writethrough|writeback|unsafe|directsync
  detect_zeroes boolean?
  discard string? enum=ignore|on
  file string format=pve-volume-id-or-qm-path default
  format string? enum=raw|qcow|qed|qcow2|vmdk|cloop
  import-from string?
  iops integer?
  iops_max integer?
  iops_max_length integer? minimum=1
  iops_rd integer?
  iops_rd_length string alias=iops_rd_max_length
  iops_rd_max integer?
  iops_rd_max_length integer? minimum=1
  iops_wr integer?
  iops_wr_length string alias=iops_wr_max_length
  iops_wr_max integer?
  iops_wr_max_length integer? minimum=1
  mbps number?
  mbps_max number?
  mbps_rd number?
  mbps_rd_max number?
  mbps_wr number?
  mbps_wr_max number?
  media string? enum=cdrom|disk
  replicate boolean?
  rerror string? enum=ignore|report|stop
  serial string? maxLength=60
  shared boolean?
  size string? format=disk-size
  snapshot boolean?
  volume string alias=file
  werror string? enum=enospc|ignore|report|stop
efidisk
  efitype string? enum=2m|4m
  file string format=pve-volume-id-or-qm-path default
  format string? enum=raw|qcow|qed|qcow2|vmdk|cloop
  import-from string?
  ms-cert string? enum=2011|2023|2023w
  pre-enrolled-keys boolean?
  size string? format=disk-size
  volume string alias=file
features
  force_rw_sys boolean?
  fuse boolean?
  keyctl boolean?
  mknod boolean?
  mount string? pattern=(?:[a-zA-Z0-9_; ]+)
  nesting boolean?
ha
  shutdown_policy string enum=freeze|failover|conditional|migrate
ide
  + drive
  model string? maxLength=120
  ssd boolean?
  wwn string? pattern=(?:^(0x)[0-9a-fA-F]{16})
ivshmem
  name string? pattern=[a-zA-Z0-9\-]+
  size integer minimum=1
lxc-net
  bridge string? pattern=[-_.\w\d]+
  firewall boolean?
  gw string?
  gw6 string?
  host-managed boolean?
  hwaddr string? format=mac-addr
  ip string?
  ip6 string?
  link_down boolean?
  mtu integer? minimum=64 maximum=65535
  name string pattern=[-_.\w\d]+
  rate number?
  tag integer? minimum=1 maximum=4094
  trunks string? pattern=(?:\d+(?:;\d+)*)
  type string? enum=veth
lxc-unused
  volume string format=pve-volume-id default
machine
  aw-bits number? minimum=32 maximum=64
  enable-s3 boolean?
  enable-s4 boolean?
  type string? maxLength=40 pattern=(pc|pc(-i440fx)?-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|q35|pc-q35-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|virt(?:-\d+(\.\d+)+)?(\+pve\d+)?) default
  viommu string? enum=intel|virtio
memory
  current integer minimum=16 default
migration
  network string? format=CIDR
  type string enum=secure|insecure
mp
  + rootfs
  backup boolean?
  mp string format=pve-lxc-mp-string
net
  bridge string? format=pve-bridge-id
  firewall boolean?
  link_down boolean?
  macaddr string? format=mac-addr
  model string enum=e1000|e1000-82540em|e1000-82544gc|e1000-82545em|e1000e|i82551|i82557b|i82559er|ne2k_isa|ne2k_pci|pcnet|rtl8139|virtio|vmxnet3 default
  mtu integer? minimum=1 maximum=65520
  queues integer? minimum=0 maximum=64
  rate number? minimum=0
  tag integer? minimum=1 maximum=4094
  trunks string? pattern=(?:\d+(?:-\d+)?(?:;\d+(?:-\d+)?)*)
next-id
  lower integer?
  upper integer?
notify
  fencing string? enum=always|never
  package-updates string? enum=auto|always|never
  replication string? enum=always|never
  target-fencing string?
  target-package-updates string?
  target-replication string?
numa
  cpus string pattern=(?:\d+(?:-\d+)?(?:;\d+(?:-\d+)?)*)
  hostnodes string? pattern=(?:\d+(?:-\d+)?(?:;\d+(?:-\d+)?)*)
  memory number?
  policy string? enum=preferred|bind|interleave
rootfs
  acl boolean?
  mountoptions string? pattern=(?:(?:(discard|lazytime|noatime|nodev|noexec|nosuid))(;(?:(discard|lazytime|noatime|nodev|noexec|nosuid)))*)
  quota boolean?
  replicate boolean?
  ro boolean?
  shared boolean?
  size string? format=disk-size
  volume string format=pve-lxc-mp-string default
sata
  + drive
  ssd boolean?
  wwn string? pattern=(?:^(0x)[0-9a-fA-F]{16})
scsi
  + drive
  iothread boolean?
  product string? pattern=[A-Za-z0-9\-_\s]{,16}
  queues integer? minimum=2
  ro boolean?
  scsiblock boolean?
  ssd boolean?
  vendor string? pattern=[A-Za-z0-9\-_\s]{,8}
  wwn string? pattern=(?:^(0x)[0-9a-fA-F]{16})
spice_enhancements
  foldersharing boolean?
  videostreaming string? enum=off|all|filter
tag-style
  case-sensitive boolean?
  color-map string? pattern=(?:(?:[a-z0-9_][a-z0-9_\-\+\.]*):[0-9a-fA-F]{6}(?::[0-9a-fA-F]{6})?)(?:;(?:(?:[a-z0-9_][a-z0-9_\-\+\.]*):[0-9a-fA-F]{6}(?::[0-9a-fA-F]{6})?))*
  ordering string? enum=config|alphabetical
  shape string? enum=full|circle|dense|none
tpmstate
  file string format=pve-volume-id-or-qm-path default
  format string? enum=raw|qcow2|vmdk
  import-from string?
  size string? format=disk-size
  version string? enum=v1.2|v2.0
  volume string alias=file
u2f
  appid string?
  origin string?
unused
  file string format=pve-volume-id default
  volume string alias=file
usb
  host string? pattern=(?:(?:(?:(?:(0x)?([0-9A-Fa-f]{4}):(0x)?([0-9A-Fa-f]{4})))|(?:(?:(\d+)\-(\d+(\.\d+)*)))|[Ss][Pp][Ii][Cc][Ee])) default
  mapping string? format=pve-configid
  usb3 boolean?
user-tag-access
  user-allow string? enum=none|list|existing|free
  user-allow-list string? pattern=(?:[a-z0-9_][a-z0-9_\-\+\.]*)(?:;(?:[a-z0-9_][a-z0-9_\-\+\.]*))*
vga
  clipboard string? enum=vnc
  memory integer? minimum=4 maximum=512
  type string? enum=cirrus|qxl|qxl2|qxl3|qxl4|none|serial0|serial1|serial2|serial3|std|virtio|virtio-gl|vmware default
virtio
  + drive
  iothread boolean?
  ro boolean?
virtiofs
  cache string? enum=auto|always|metadata|never
  direct-io boolean?
  dirid string format=pve-configid
  expose-acl boolean?
  expose-xattr boolean?
webauthn
  allow-subdomains boolean?
  id string?
  origin string?
  rp string?
`;
