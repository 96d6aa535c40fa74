/** All pages, by the names of their programs. A program stands on one of them. */
import type { Page } from '../page.ts';
import { ip } from './network/ip.ts';
import { network } from './network/network.ts';
import { api } from './proxmox/api.ts';
import { node } from './proxmox/node.ts';
import { packages } from './proxmox/packages.ts';
import { ceph } from './storage/ceph.ts';
import { disks } from './storage/disks.ts';
import { space } from './storage/space.ts';
import { host } from './system/host.ts';
import { load } from './system/load.ts';
import { processes } from './system/processes.ts';
import { files } from './text/files.ts';
import { filters } from './text/filters.ts';
import { languages } from './text/languages.ts';

const system = [host, load, processes];
const storage = [space, disks, ceph];
const all = [...system, ...storage, ip, network, api, node, packages, files, filters, languages];

export const sshPages: readonly (readonly [names: readonly string[], page: Page])[] = all.flatMap((pages) =>
  Object.entries(pages).map(([names, page]): [string[], Page] => [names.split(' '), page]),
);
