/** Ceph: only what shows; `ceph` takes the rest of a line as a command to the monitors. */
import { anyNumber, atMostOne, kind, number, oneOf, some, word } from '../../kinds.ts';
import type { Call, Pages } from '../../page.ts';

const pool = kind('the name of a pool', /^[A-Za-z0-9.][A-Za-z0-9_.-]{0,80}$/);
const image = kind('an image, snapshot or pool', /^[A-Za-z0-9.][\w.-]{0,80}(?:\/[\w.-]{1,80}){0,2}(?:@[\w.-]{1,80})?$/);
const daemon = kind('a daemon such as osd.0', /^(?:osd|mon|mgr|mds)(?:\.[A-Za-z0-9_-]{1,40})?$/);
const osd = kind('the number of an OSD', /^(?:osd\.)?\d{1,6}$/);
const placementGroup = kind('a placement group such as 2.5', /^\d{1,6}\.[0-9a-f]{1,8}$/);
const name = kind('a name', /^[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,100}$/);
/** SECURITY: settings of the manager's modules hold passwords. */
const setting = kind('a setting without secrets', /^(?!.*(?:key|secret|password|token|cred))[a-z][a-z0-9_]{2,60}$/);
/** What daemons are asked that only shows: these, and `dump_…`. */
const askedOfDaemon = `version,status,help,ops,mon_status,quorum_status,sessions,perf dump,perf schema,heap stats,bluefs stats,cache status,
session ls`.split(/,\s*/);

const shows = `, status, health, health detail, df, df detail, fsid, versions, features, quorum_status, time-sync-status, node ls,
  osd tree, osd status, osd stat, osd df, osd df tree, osd df plain, osd perf, osd dump, osd ls, osd lspools, osd blocked-by, osd utilization,
  osd numa-status, osd versions, osd pool ls, osd pool ls detail, osd pool autoscale-status, osd pool stats, osd crush tree, osd crush dump,
  osd crush rule ls, osd crush rule dump, osd crush class ls, osd crush show-tunables, osd erasure-code-profile ls, osd blacklist ls,
  osd blocklist ls, osd getmaxosd, osd require-osd-release, osd tree down, osd tree up, osd tree out,
  pg stat, pg dump, pg ls, pg dump_stuck, pg dump pgs_brief, pg dump summary, pg dump sum, pg dump osds, pg dump pools, pg dump pgs, pg debug unfound_objects_exist,
  mon stat, mon dump, mon versions, mon feature ls, mon ok-to-stop, mgr stat, mgr dump, mgr services, mgr module ls, mgr versions,
  mds stat, mds versions, mds metadata, fs ls, fs status, fs dump, balancer status, balancer eval, progress, device ls, crash ls, crash ls-new,
  crash stat, telemetry status, orch status, log last`;

function onlyShows({ operands: [, ...words] }: Call): string | undefined {
  const asked = words.join(' ');
  if (askedOfDaemon.includes(asked) || /^dump_[a-z_]{3,40}$/.test(asked)) return undefined;
  return `with \`${asked.slice(0, 60)}\` for a daemon, which does not only show`;
}

function oneCommand({ verb, has }: Call): string | undefined {
  if (verb === '') return has('-s', '--status', '-v', '--version') ? undefined : 'alone, which would wait for commands';
  return has('-s', '--status') ? 'with `-s` and a command' : undefined;
}

export const ceph: Pages = {
  ceph: {
    why: 'prints the state of Ceph; keys, `tell` and `daemon` that change, `-i`, `-o`, `-w` and other commands are left out',
    style: 'words',
    flags: '-s --status -v --version --concise --verbose --show-shadow',
    options: { '-f --format': oneOf('a form', 'plain json json-pretty xml xml-pretty yaml'), '--connect-timeout': number },
    verbs: {
      [shows]: {
        operands: [anyNumber(kind('a filter', /^[a-z][a-z0-9_+-]{0,40}$|^\d{1,4}$/), 4)],
        check: ({ verb, operands }) =>
          operands.length === 0 || /^(?:pg|osd (?:df|tree|pool stats)|log last|fs status|mds metadata)/.test(verb)
            ? undefined
            : 'with words behind, which could be another command',
      },
      'osd find, osd metadata, osd ok-to-stop, osd safe-to-destroy': { operands: [anyNumber(osd, 8)] },
      'osd pool get': {
        operands: [
          pool,
          oneOf(
            'a property',
            'all size min_size pg_num pgp_num crush_rule hashpspool nodelete nopgchange nosizechange fast_read pg_autoscale_mode pg_autoscale_bias target_size_ratio target_size_bytes bulk compression_mode compression_algorithm erasure_code_profile allow_ec_overwrites eio noscrub nodeep-scrub',
          ),
        ],
      },
      'osd pool get-quota, osd pool application get': { operands: [pool] },
      'osd crush rule dump, osd erasure-code-profile get, device info, device query-daemon-health-metrics, device get-health-metrics': {
        operands: [atMostOne(name)],
      },
      'pg ls-by-osd, pg ls-by-primary': { operands: [osd, anyNumber(kind('a state', /^[a-z+]{2,40}$/), 2)] },
      'pg ls-by-pool': { operands: [pool, anyNumber(kind('a state', /^[a-z+]{2,40}$/), 2)] },
      'pg map, pg list_unfound': { operands: [placementGroup] },
      pg: { operands: [placementGroup, oneOf('`query` or `list_unfound`', 'query list_unfound')] },
      'osd map': { operands: [pool, name] },
      'crash info': { operands: [name] },
      'config ls': {},
      'config dump, config log': { check: () => ({ ask: 'settings of the manager may hold passwords of its modules' }) },
      'config get': { operands: [daemon, setting] },
      'config show': { operands: [daemon, setting] },
      'config help': { operands: [word] },
      'fs get, fs subvolume ls, fs subvolumegroup ls': { operands: [name] },
      daemon: { operands: [daemon, some(word, 2)], check: onlyShows },
      tell: { operands: [kind('a daemon', /^(?:osd|mon|mgr|mds)\.(?:\*|[A-Za-z0-9_-]{1,40})$/), some(word, 2)], check: onlyShows },
      'osd getcrushmap': { options: { '-o': oneOf('/dev/null', '/dev/null') } },
    },
    check: oneCommand,
    match: `ceph -s  ceph status  ceph health detail  ceph osd tree  ceph osd df tree  ceph osd pool ls detail  ceph pg dump_stuck  ceph df -f json
      ceph osd pool get rbd size  ceph daemon osd.0 dump_historic_ops  ceph daemon osd.0 perf dump  ceph tell osd.0 version  ceph pg 2.5 query
      ceph log last 20  ceph osd find 3`,
    notMatch: `ceph  ceph -w  ceph osd out 0  ceph osd set noout  ceph auth list  ceph auth get client.admin  ceph config-key dump
      ceph -i /etc/shadow status  ceph osd pool delete x x  ceph osd reweight 0 0.5  ceph tell osd.0 bench  ceph tell osd.0 injectargs x
      ceph daemon osd.0 config set a b  ceph daemon osd.0 config show  ceph pg repair 2.5  ceph pg deep-scrub 2.5  ceph -k /x -s
      ceph --admin-daemon /tmp/x status  ceph -c /x -s  ceph osd getcrushmap -o /etc/x  ceph config set osd x y  ceph mon remove a  ceph log hello
      ceph osd tree -o /etc/x  ceph health mute X`,
  },
  rbd: {
    why: 'lists images; other commands change, map, export or load them',
    style: 'words',
    flags: '-l --long --all -a --pretty-format',
    options: { '-p --pool --image --snap --namespace': image, '--format': oneOf('a form', 'plain json xml') },
    verbs: {
      'ls, list, du, disk-usage, info, status, showmapped, pool stats, trash ls, trash list, namespace ls, device list, device ls': {
        operands: [anyNumber(image, 2)],
      },
      'snap ls, snap list, lock ls, lock list, mirror image status, mirror pool status, mirror pool info, group ls, children': {
        operands: [anyNumber(image, 1)],
      },
      'perf image iostat, perf image iotop': { check: () => 'which never ends; look with `ceph osd perf`' },
    },
    match: `rbd ls ceph-vm  rbd du ceph-vm/vm-100-disk-0  rbd -p rbd ls -l  rbd info rbd/vm-100-disk-0  rbd snap ls rbd/x  rbd showmapped
      rbd status rbd/x`,
    notMatch: `rbd rm x  rbd map x  rbd export x -  rbd bench x  rbd snap rollback rbd/x@a  rbd -p rbd ls --conf /x  rbd trash purge rbd
      rbd perf image iostat  rbd watch x  rbd create x`,
  },
  rados: {
    why: 'prints the use of pools; objects are neither read nor written',
    style: 'words',
    options: { '-f --format': oneOf('a form', 'plain json json-pretty'), '-p --pool': pool },
    verbs: { 'df, lspools': {} },
    match: 'rados df  rados lspools  rados df -f json',
    notMatch: 'rados rm x  rados -p x get y /etc/shadow  rados bench 10 write  rados -p x ls  rados purge x',
  },
  'ceph-volume': {
    why: 'lists the volumes of OSDs; other verbs make and destroy them',
    verbs: {
      'lvm list, inventory, raw list': {
        options: { '--format': oneOf('a form', 'json plain pretty json-pretty') },
        operands: [anyNumber(kind('a device or number', /^(?:\d{1,5}|\/dev\/[A-Za-z0-9_/-]{1,100})$/), 1)],
      },
    },
    match: 'ceph-volume lvm list  ceph-volume lvm list --format json  ceph-volume inventory',
    notMatch: `ceph-volume lvm zap /dev/sdb  ceph-volume lvm create --data /dev/sdb  ceph-volume lvm activate --all  ceph-volume simple scan x`,
  },
};
