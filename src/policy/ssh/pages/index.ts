/** All pages. A program stands on one of them. */
import type { Page } from '../page.ts';
import { ip } from './network/ip.ts';
import { network } from './network/network.ts';
import { api } from './proxmox/api.ts';
import { node } from './proxmox/node.ts';
import { packages } from './proxmox/packages.ts';
import { ceph } from './storage/ceph.ts';
import { disks } from './storage/disks.ts';
import { space } from './storage/space.ts';
import { volumes } from './storage/volumes.ts';
import { hardware } from './system/hardware.ts';
import { host } from './system/host.ts';
import { kernel } from './system/kernel.ts';
import { load } from './system/load.ts';
import { processes } from './system/processes.ts';
import { services } from './system/services.ts';
import { files } from './text/files.ts';
import { filters } from './text/filters.ts';
import { languages } from './text/languages.ts';

export const sshPages: readonly Page[] = [
  ...host,
  ...hardware,
  ...kernel,
  ...load,
  ...processes,
  ...services,
  ...space,
  ...disks,
  ...volumes,
  ...ceph,
  ...ip,
  ...network,
  ...api,
  ...node,
  ...packages,
  ...files,
  ...filters,
  ...languages,
];
