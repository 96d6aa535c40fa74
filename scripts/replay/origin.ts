/** The request behind a task whose own recording is not at hand: a UPID says what was asked of whom, and by whom. */
import { decodeUpid, encodeUpid, type Upid } from '#demo/pve/upid';
import { labRequests } from './lab-fixture.ts';
import { fieldsOf, type Recording, rowsOf } from './recordings.ts';

const paths: Readonly<Record<string, (id: string) => string>> = {
  ...Object.fromEntries(
    ['start', 'stop', 'shutdown', 'reboot', 'reset', 'resume'].map((action) => [
      `qm${action}`,
      (id: string) => `qemu/${id}/status/${action}`,
    ]),
  ),
  ...Object.fromEntries(
    ['start', 'stop', 'shutdown', 'reboot', 'suspend', 'resume'].map((action) => [
      `vz${action}`,
      (id: string) => `lxc/${id}/status/${action}`,
    ]),
  ),
  ...Object.fromEntries(
    ['start', 'stop', 'restart', 'reload'].map((action) => [`srv${action}`, (id: string) => `services/${id}/${action}`]),
  ),
  qmpause: (id) => `qemu/${id}/status/suspend`,
  qmsuspend: (id) => `qemu/${id}/status/suspend`,
  qmigrate: (id) => `qemu/${id}/migrate`,
  hamigrate: (id) => `qemu/${id}/migrate`,
  hastart: (id) => `qemu/${id}/status/start`,
  hastop: (id) => `qemu/${id}/status/stop`,
};

/** @param asked the path that was posted to, where the recording says so @throws when nothing tells what was asked */
export function requestOfTask(recording: Recording, siblings: readonly Recording[], asked: string | undefined): Recording {
  const upid = upidOf([recording, ...siblings]);
  const name = recording.name.replace(/ → .*$/, '');
  const known = recording.of === undefined ? labRequests[name] : undefined;
  const path = asked ?? known?.path ?? pathOf(upid, siblings);
  if (path === undefined) throw new Error(`the request \`${name}\` is not in the file`);
  const { of: _, ...rest } = recording;
  const form = known === undefined ? formFrom(name, upid?.type) : known.form;
  const request = { method: 'POST', path, auth: tokenOf(upid, recording), ...(form === undefined ? {} : { form }) };
  return { ...rest, name, request, response: { status: 200, body: { data: upid === undefined ? '' : encodeUpid(upid) } } };
}

function upidOf(recordings: readonly Recording[]): Upid | undefined {
  return recordings.map((one) => decodeUpid(String(fieldsOf(one)['upid'] ?? ''))).find((one) => one !== undefined);
}

/** Who started the task, else who asked about it. */
function tokenOf(upid: Upid | undefined, { request }: Recording): string {
  return upid?.user.split('!')[1] ?? request.auth ?? 'ops';
}

function pathOf(upid: Upid | undefined, siblings: readonly Recording[]): string | undefined {
  if (upid === undefined) return guessed(siblings);
  const rest = paths[upid.type]?.(upid.id);
  return rest === undefined ? undefined : `/nodes/${upid.node}/${rest}`;
}

/** A log alone names its guest where something went wrong. */
function guessed(siblings: readonly Recording[]): string | undefined {
  const text = siblings.flatMap((one) => rowsOf(one).map((row) => String(row['t']))).join('\n');
  const [, node, folder, vmid] = /'nodes\/([^/]+)\/(qemu-server|lxc)\/(\d+)\.conf' does not exist/.exec(text) ?? [];
  return node === undefined ? undefined : `/nodes/${node}/${folder === 'lxc' ? 'lxc' : 'qemu'}/${vmid}/status/start`;
}

function formFrom(name: string, type: string | undefined): Record<string, string> | undefined {
  const [, timeout] = /timeout (\d+)/.exec(name) ?? [];
  const form = {
    ...(timeout === undefined ? {} : { timeout }),
    ...(/overrule-shutdown/.test(name) ? { 'overrule-shutdown': '1' } : {}),
    ...(/forceStop/.test(name) ? { forceStop: '1' } : {}),
    ...(type === 'qmsuspend' ? { todisk: '1' } : {}),
  };
  return Object.keys(form).length === 0 ? undefined : form;
}
