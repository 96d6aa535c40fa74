/**
 * Methods of the cluster, its nodes, storages and pools, as the 9.1.5 schema declares them. First line: verb, path, who may (`all`, or an ACL path and one privilege or any of several),
 * and `local` where the node that was asked answers although the path names one. Below it one parameter a line; `+`: a group of them.
 */
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
