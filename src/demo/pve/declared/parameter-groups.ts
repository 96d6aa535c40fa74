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
