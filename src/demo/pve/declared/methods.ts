/**
 * Methods as the 9.1.5 schema declares them. First line: verb, path, who may (`all`, or an ACL path and one privilege or any of several),
 * and `local` where the node that was asked answers although the path names one. Below it one parameter a line; `+`: a group of them.
 */

/** Of the cluster, its nodes, storages and pools. */
export const clusterMethodTable = String.raw`
GET /cluster/backup / Sys.Audit
POST /cluster/backup / Sys.Modify
  + vzdump
  comment string? maxLength=512
  dow string? requires=starttime
  enabled boolean?
  id string? format=pve-configid
  node string? format=pve-node
  repeat-missed boolean?
  schedule string? maxLength=128 format=pve-calendar-event
  starttime string? pattern=\d{1,2}:\d{1,2}
GET /cluster/backup-info/not-backed-up / Sys.Audit
DELETE /cluster/backup/{id} / Sys.Modify
  id string maxLength=50 pattern=\S+
GET /cluster/backup/{id} / Sys.Audit
  id string maxLength=50 pattern=\S+
PUT /cluster/backup/{id} / Sys.Modify
  id string maxLength=50 pattern=\S+
  + vzdump
  comment string? maxLength=512
  delete string? format=pve-configid-list
  dow string? requires=starttime
  enabled boolean?
  node string? format=pve-node
  repeat-missed boolean?
  schedule string? maxLength=128 format=pve-calendar-event
  starttime string? pattern=\d{1,2}:\d{1,2}
GET /cluster/backup/{id}/included_volumes / Sys.Audit
  id string maxLength=50 pattern=\S+
GET /cluster/ceph/metadata / Sys.Audit|Datastore.Audit
  scope string? enum=all|versions
GET /cluster/firewall/aliases / Sys.Audit
GET /cluster/firewall/groups all
GET /cluster/firewall/ipset / Sys.Audit
GET /cluster/firewall/options / Sys.Audit
GET /cluster/firewall/rules / Sys.Audit
GET /cluster/jobs/schedule-analyze all
  iterations integer? minimum=1 maximum=100
  schedule string maxLength=128 format=pve-calendar-event
  starttime integer?
GET /cluster/options / Sys.Audit
PUT /cluster/options / Sys.Modify
  bwlimit string? of=bwlimit
  consent-text string? maxLength=65536
  console string? enum=applet|vv|html5|xtermjs
  crs string? of=crs
  delete string? format=pve-configid-list
  description string? maxLength=65536
  email_from string?
  fencing string? enum=watchdog|hardware|both
  ha string? of=ha
  http_proxy string? pattern=http://.*
  keyboard string? enum=de|de-ch|da|en-gb|en-us|es|fi|fr|fr-be|fr-ca|fr-ch|hu|is|it|ja|lt|mk|nl|no|pl|pt|pt-br|sv|sl|tr
  language string? enum=ar|ca|da|de|en|es|eu|fa|fr|hr|he|it|ja|ka|kr|nb|nl|nn|pl|pt_BR|ru|sl|sv|tr|ukr|zh_CN|zh_TW
  mac_prefix string? format=mac-prefix
  max_workers integer? minimum=1
  migration string? of=migration
  migration_unsecure boolean?
  next-id string? of=next-id
  notify string? of=notify
  registered-tags string? pattern=(?:(?:[a-z0-9_][a-z0-9_\-\+\.]*);)*(?:[a-z0-9_][a-z0-9_\-\+\.]*)
  replication string? of=migration
  tag-style string? of=tag-style
  u2f string? of=u2f
  user-tag-access string? of=user-tag-access
  webauthn string? of=webauthn
DELETE /cluster/replication/{id} all
  force boolean?
  keep boolean?
POST /nodes/{node}/apt/update /nodes/{node} Sys.Modify
  notify boolean?
  quiet boolean?
GET /nodes/{node}/firewall/log /nodes/{node} Sys.Syslog
  limit integer? minimum=0
  since integer? minimum=0
  start integer? minimum=0
  until integer? minimum=0
GET /nodes/{node}/firewall/options /nodes/{node} Sys.Audit
GET /nodes/{node}/firewall/rules /nodes/{node} Sys.Audit
PUT /nodes/{node}/storage/{storage}/content/{volume} all
  notes string?
  protected boolean?
DELETE /nodes/{node}/storage/{storage}/prunebackups all
  prune-backups string? format=prune-backups
  type string? enum=qemu|lxc
  vmid integer? minimum=100 maximum=999999999 format=pve-vmid
GET /nodes/{node}/subscription all
POST /nodes/{node}/vzdump all
  node string? format=pve-node
  + vzdump
  job-id string? maxLength=50 pattern=\S+
  stdout boolean?
GET /nodes/{node}/vzdump/defaults all
  storage string? format=pve-storage-id
GET /nodes/{node}/vzdump/extractconfig all
  volume string
DELETE /pools /pool/{poolid} Pool.Allocate
  poolid string format=pve-poolid
GET /pools all
  poolid string? format=pve-poolid
  type string? requires=poolid enum=qemu|lxc|storage
POST /pools /pool/{poolid} Pool.Allocate
  comment string?
  poolid string format=pve-poolid
PUT /pools /pool/{poolid} Pool.Allocate
  allow-move boolean?
  comment string?
  delete boolean?
  poolid string format=pve-poolid
  storage string? format=pve-storage-id-list
  vms string? format=pve-vmid-list
GET /pools/{poolid} /pool/{poolid} Pool.Audit
  type string? enum=qemu|lxc|storage
`;

/** Of guests. */
export const guestMethodTable = String.raw`
POST /nodes/{node}/lxc all
  + lxc
  bwlimit number? minimum=0
  force boolean?
  ha-managed boolean?
  ignore-unpack-errors boolean?
  ostemplate string maxLength=255
  password string? minLength=5
  pool string? format=pve-poolid
  restore boolean?
  ssh-public-keys string?
  start boolean?
  storage string? format=pve-storage-id
  unique boolean? requires=restore
  vmid integer minimum=100 maximum=999999999 format=pve-vmid
DELETE /nodes/{node}/lxc/{vmid} /vms/{vmid} VM.Allocate
  destroy-unreferenced-disks boolean?
  force boolean?
  purge boolean?
POST /nodes/{node}/lxc/{vmid}/clone /vms/{vmid} VM.Clone
  bwlimit number? minimum=0
  description string?
  full boolean?
  hostname string? format=dns-name
  newid integer minimum=100 maximum=999999999 format=pve-vmid
  pool string? format=pve-poolid
  snapname string? maxLength=40 format=pve-configid
  storage string? format=pve-storage-id
  target string? format=pve-node
GET /nodes/{node}/lxc/{vmid}/config /vms/{vmid} VM.Audit
  current boolean?
  snapshot string? maxLength=40 format=pve-configid
PUT /nodes/{node}/lxc/{vmid}/config /vms/{vmid} VM.Config.Disk|VM.Config.CPU|VM.Config.Memory|VM.Config.Network|VM.Config.Options
  + lxc
  delete string? format=pve-configid-list
  digest string? maxLength=40
  revert string? format=pve-configid-list
GET /nodes/{node}/lxc/{vmid}/feature /vms/{vmid} VM.Audit
  feature string enum=snapshot|clone|copy
  snapname string? maxLength=40 format=pve-configid
GET /nodes/{node}/lxc/{vmid}/firewall/rules /vms/{vmid} VM.Audit local
GET /nodes/{node}/lxc/{vmid}/migrate /vms/{vmid} VM.Migrate
  target string? format=pve-node
POST /nodes/{node}/lxc/{vmid}/migrate /vms/{vmid} VM.Migrate
  bwlimit number? minimum=0
  online boolean?
  restart boolean?
  target string format=pve-node
  target-storage string?
  timeout integer?
POST /nodes/{node}/lxc/{vmid}/move_volume /vms/{vmid} VM.Config.Disk
  bwlimit number? minimum=0
  delete boolean?
  digest string? maxLength=40
  storage string? format=pve-storage-id
  target-digest string? maxLength=40
  target-vmid integer? minimum=100 maximum=999999999 format=pve-vmid
  target-volume string? enum=@mountpoints+unused
  volume string enum=@mountpoints+unused
GET /nodes/{node}/lxc/{vmid}/pending /vms/{vmid} VM.Audit
PUT /nodes/{node}/lxc/{vmid}/resize /vms/{vmid} VM.Config.Disk|
  digest string? maxLength=40
  disk string enum=@mountpoints
  size string pattern=\+?\d+(\.\d+)?[KMGT]?
GET /nodes/{node}/lxc/{vmid}/snapshot /vms/{vmid} VM.Audit
POST /nodes/{node}/lxc/{vmid}/snapshot /vms/{vmid} VM.Snapshot
  description string?
  snapname string maxLength=40 format=pve-configid
DELETE /nodes/{node}/lxc/{vmid}/snapshot/{snapname} /vms/{vmid} VM.Snapshot
  force boolean?
GET /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/config /vms/{vmid} VM.Snapshot|VM.Snapshot.Rollback|VM.Audit
PUT /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/config /vms/{vmid} VM.Snapshot
  description string?
POST /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/rollback /vms/{vmid} VM.Snapshot|VM.Snapshot.Rollback
  start boolean?
POST /nodes/{node}/lxc/{vmid}/template /vms/{vmid} VM.Allocate
POST /nodes/{node}/qemu all
  + qemu
  archive string? maxLength=255
  bwlimit integer? minimum=0
  force boolean? requires=archive
  ha-managed boolean?
  import-working-storage string? format=pve-storage-id
  live-restore boolean?
  pool string? format=pve-poolid
  start boolean?
  storage string? format=pve-storage-id
  unique boolean? requires=archive
  vmid integer minimum=100 maximum=999999999 format=pve-vmid
DELETE /nodes/{node}/qemu/{vmid} /vms/{vmid} VM.Allocate
  destroy-unreferenced-disks boolean?
  purge boolean?
  skiplock boolean?
GET /nodes/{node}/qemu/{vmid}/agent/file-read /vms/{vmid} VM.GuestAgent.FileRead|VM.GuestAgent.Unrestricted
  file string
POST /nodes/{node}/qemu/{vmid}/clone /vms/{vmid} VM.Clone
  bwlimit integer? minimum=0
  description string?
  format string? enum=raw|qcow2|vmdk
  full boolean?
  name string? format=dns-name
  newid integer minimum=100 maximum=999999999 format=pve-vmid
  pool string? format=pve-poolid
  snapname string? maxLength=40 format=pve-configid
  storage string? format=pve-storage-id
  target string? format=pve-node
GET /nodes/{node}/qemu/{vmid}/config /vms/{vmid} VM.Audit
  current boolean?
  snapshot string? maxLength=40 format=pve-configid
POST /nodes/{node}/qemu/{vmid}/config /vms/{vmid} VM.Config.Disk|VM.Config.CDROM|VM.Config.CPU|VM.Config.Memory|VM.Config.Network|VM.Config.HWType|VM.Config.Options|VM.Config.Cloudinit
  + qemu
  background_delay integer? minimum=1 maximum=30
  delete string? format=pve-configid-list
  digest string? maxLength=40
  force boolean? requires=delete
  import-working-storage string? format=pve-storage-id
  revert string? format=pve-configid-list
  skiplock boolean?
PUT /nodes/{node}/qemu/{vmid}/config /vms/{vmid} VM.Config.Disk|VM.Config.CDROM|VM.Config.CPU|VM.Config.Memory|VM.Config.Network|VM.Config.HWType|VM.Config.Options|VM.Config.Cloudinit
  + qemu
  delete string? format=pve-configid-list
  digest string? maxLength=40
  force boolean? requires=delete
  revert string? format=pve-configid-list
  skiplock boolean?
GET /nodes/{node}/qemu/{vmid}/feature /vms/{vmid} VM.Audit
  feature string enum=snapshot|clone|copy
  snapname string? maxLength=40 format=pve-configid
GET /nodes/{node}/qemu/{vmid}/firewall/options /vms/{vmid} VM.Audit
PUT /nodes/{node}/qemu/{vmid}/firewall/options /vms/{vmid} VM.Config.Network
  delete string? format=pve-configid-list
  dhcp boolean?
  digest string? maxLength=64
  enable boolean?
  ipfilter boolean?
  log_level_in string? enum=emerg|alert|crit|err|warning|notice|info|debug|nolog
  log_level_out string? enum=emerg|alert|crit|err|warning|notice|info|debug|nolog
  macfilter boolean?
  ndp boolean?
  policy_in string? enum=ACCEPT|REJECT|DROP
  policy_out string? enum=ACCEPT|REJECT|DROP
  radv boolean?
GET /nodes/{node}/qemu/{vmid}/firewall/refs /vms/{vmid} VM.Audit local
  type string? enum=alias|ipset
GET /nodes/{node}/qemu/{vmid}/firewall/rules /vms/{vmid} VM.Audit local
POST /nodes/{node}/qemu/{vmid}/firewall/rules /vms/{vmid} VM.Config.Network local
  action string minLength=2 maxLength=20 pattern=[A-Za-z][A-Za-z0-9\-\_]+
  comment string?
  dest string? maxLength=512
  digest string? maxLength=64
  dport string?
  enable integer? minimum=0
  icmp-type string?
  iface string? minLength=2 maxLength=20
  log string? enum=emerg|alert|crit|err|warning|notice|info|debug|nolog
  macro string? maxLength=128
  pos integer? minimum=0
  proto string?
  source string? maxLength=512
  sport string?
  type string enum=in|out|forward|group
DELETE /nodes/{node}/qemu/{vmid}/firewall/rules/{pos} /vms/{vmid} VM.Config.Network local
  digest string? maxLength=64
GET /nodes/{node}/qemu/{vmid}/firewall/rules/{pos} /vms/{vmid} VM.Audit local
PUT /nodes/{node}/qemu/{vmid}/firewall/rules/{pos} /vms/{vmid} VM.Config.Network local
  action string? minLength=2 maxLength=20 pattern=[A-Za-z][A-Za-z0-9\-\_]+
  comment string?
  delete string? format=pve-configid-list
  dest string? maxLength=512
  digest string? maxLength=64
  dport string?
  enable integer? minimum=0
  icmp-type string?
  iface string? minLength=2 maxLength=20
  log string? enum=emerg|alert|crit|err|warning|notice|info|debug|nolog
  macro string? maxLength=128
  moveto integer? minimum=0
  proto string?
  source string? maxLength=512
  sport string?
  type string? enum=in|out|forward|group
GET /nodes/{node}/qemu/{vmid}/migrate /vms/{vmid} VM.Migrate
  target string? format=pve-node
POST /nodes/{node}/qemu/{vmid}/migrate /vms/{vmid} VM.Migrate
  bwlimit integer? minimum=0
  force boolean?
  migration_network string? format=CIDR
  migration_type string? enum=secure|insecure
  online boolean?
  target string format=pve-node
  targetstorage string?
  with-conntrack-state boolean?
  with-local-disks boolean?
POST /nodes/{node}/qemu/{vmid}/move_disk /vms/{vmid} VM.Config.Disk
  bwlimit integer? minimum=0
  delete boolean?
  digest string? maxLength=40
  disk string enum=@drives+unused
  format string? enum=raw|qcow2|vmdk
  storage string? format=pve-storage-id
  target-digest string? maxLength=40
  target-disk string? enum=@drives+unused
  target-vmid integer? minimum=100 maximum=999999999 format=pve-vmid
GET /nodes/{node}/qemu/{vmid}/pending /vms/{vmid} VM.Audit
PUT /nodes/{node}/qemu/{vmid}/resize /vms/{vmid} VM.Config.Disk
  digest string? maxLength=40
  disk string enum=@drives
  size string pattern=\+?\d+(\.\d+)?[KMGT]?
  skiplock boolean?
GET /nodes/{node}/qemu/{vmid}/snapshot /vms/{vmid} VM.Audit
POST /nodes/{node}/qemu/{vmid}/snapshot /vms/{vmid} VM.Snapshot
  description string?
  snapname string maxLength=40 format=pve-configid
  vmstate boolean?
DELETE /nodes/{node}/qemu/{vmid}/snapshot/{snapname} /vms/{vmid} VM.Snapshot
  force boolean?
GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname} all local
GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config /vms/{vmid} VM.Snapshot|VM.Snapshot.Rollback|VM.Audit
PUT /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config /vms/{vmid} VM.Snapshot
  description string?
POST /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback /vms/{vmid} VM.Snapshot|VM.Snapshot.Rollback
  start boolean?
POST /nodes/{node}/qemu/{vmid}/template /vms/{vmid} VM.Allocate
  disk string? enum=@drives
PUT /nodes/{node}/qemu/{vmid}/unlink /vms/{vmid} VM.Config.Disk
  force boolean?
  idlist string format=pve-configid-list
`;
