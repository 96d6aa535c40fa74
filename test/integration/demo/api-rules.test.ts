/** Rules of the real API that no recording here shows, and the traps a client falls into. */
import { Agent, request } from 'node:https';
import { connect, type PeerCertificate } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createManualClock, type DemoCluster, demoTokens, type ManualClock, startDemoCluster } from '#demo/index';
import { labPassword, labState, labTokens } from '../../../scripts/replay/lab-fixture.ts';
import { call, data, type WireAnswer } from './api-client.ts';

let demo: DemoCluster;
let clock: ManualClock;

beforeAll(async () => {
  clock = createManualClock(Date.UTC(2026, 10, 21));
  demo = await startDemoCluster({ clock, taskDurationMs: 1000 });
});
afterAll(() => demo.close());

function as(token: keyof typeof demoTokens): string | undefined {
  return demo.authorization[demoTokens[token]];
}

function get(path: string, token: keyof typeof demoTokens = 'ops'): Promise<WireAnswer> {
  return call(demo, { path, authorization: as(token) });
}

function post(path: string, form: Readonly<Record<string, string>> = {}, token: keyof typeof demoTokens = 'ops'): Promise<WireAnswer> {
  return call(demo, { method: 'POST', path, form, authorization: as(token) });
}

function line(answer: WireAnswer): string {
  return `${answer.status} ${answer.statusMessage}`;
}

function errorsOf(answer: WireAnswer): unknown {
  return (answer.body as { readonly errors?: unknown }).errors;
}

describe('paths', () => {
  it('answers `localhost` as the node that was asked: the name check of a client is walked round', async () => {
    const [, pve = '', agent1 = ''] = demo.config.clusters[0].endpoints;
    expect(
      await data(demo, { endpoint: agent1, path: '/nodes/localhost/qemu/103/status/current', authorization: as('ops') }),
    ).toMatchObject({ vmid: 103 });
    expect(line(await call(demo, { endpoint: pve, path: '/nodes/localhost/qemu/103/status/current', authorization: as('ops') }))).toBe(
      "500 Configuration file 'nodes/pve/qemu-server/103.conf' does not exist",
    );
  });

  it.each([
    '/nodes/agent1%2fqemu%2f103%2fstatus/current',
    '/nodes/agent1/qemu/103%2Fstatus%2Fcurrent',
    '//nodes//agent1/qemu/103/status/current/',
  ])('decodes before it splits: %s', async (path) => {
    expect((await get(path)).body).toMatchObject({ data: { vmid: 103, name: 'management' } });
  });

  it('does not resolve dots', async () => {
    expect(line(await get('/nodes/pve/../agent1/status'))).toBe("501 Method 'GET /nodes/pve/../agent1/status' not implemented");
  });

  it.each([
    ['0103', 'invalid format - value does not look like a valid VM ID\n'],
    ['103.0', "type check ('integer') failed - got '103.0'"],
    ['1e2', "type check ('integer') failed - got '1e2'"],
    ['9999999999', 'invalid format - value does not look like a valid VM ID\n'],
  ])('refuses the guest id %s', async (vmid, reason) => {
    const answer = await get(`/nodes/pve/qemu/${vmid}/status/current`);
    expect([line(answer), errorsOf(answer)]).toEqual(['400 Parameter verification failed.', { vmid: reason }]);
  });

  it('looks up a node it does not know', async () => {
    expect(line(await get('/nodes/nosuch/status'))).toBe(
      "500 hostname lookup 'nosuch' failed - failed to get address info for: nosuch: Name or service not known",
    );
  });

  it('connects to an address and finds no certificate for it', async () => {
    const answer = await get('/nodes/192.168.1.61/qemu/103/status/current');
    expect([answer.status, answer.statusMessage, answer.body]).toEqual([
      596,
      'tls_process_server_certificate: certificate verify failed',
      '',
    ]);
    expect(line(await get('/nodes/192.0.2.7/status'))).toBe('595 No route to host');
  });

  it('keeps a line break out of the status line', async () => {
    const answer = await get('/nosuch%0aInjected:1');
    expect([line(answer), answer.headers['injected']]).toEqual(["501 Method 'GET /nosuch", undefined]);
    expect((await get('/nosuch%0d%0aInjected:1')).headers['injected']).toBeUndefined();
  });
});

describe('rights', () => {
  it('are checked before parameters', async () => {
    expect(line(await post('/nodes/pve/qemu/100/status/stop', { timeout: 'soon' }, 'readOnly'))).toBe(
      '403 Permission check failed (/vms/100, VM.PowerMgmt)',
    );
    expect((await post('/nodes/pve/qemu/100/status/stop', { timeout: 'soon' })).status).toBe(400);
  });

  it('name all privileges where any would do', async () => {
    expect(line(await get('/nodes/pve/storage/local/content', 'nobody'))).toBe(
      '403 Permission check failed (/storage/local, Datastore.Audit|Datastore.AllocateSpace)',
    );
    expect(line(await get('/nodes/pve/qemu/100/agent/info', 'readOnly'))).toBe(
      '403 Permission check failed (/vms/100, VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted)',
    );
  });

  it('hide rows and never refuse a list', async () => {
    expect((await get('/cluster/resources?type=vm', 'nobody')).body).toEqual({ data: [] });
    expect((await get('/nodes/pve/qemu', 'nobody')).body).toEqual({ data: [] });
    expect((await get('/nodes/pve/storage', 'nobody')).body).toEqual({ data: [] });
    const nodes = await data<readonly Record<string, unknown>[]>(demo, { path: '/nodes', authorization: as('nobody') });
    expect(nodes.map((node) => Object.keys(node).sort())).toEqual(
      Array.from({ length: 3 }, () => ['id', 'level', 'node', 'ssl_fingerprint', 'status', 'type']),
    );
  });

  it('show backups only with VM.Backup', async () => {
    const path = '/nodes/pve/storage/local/content?content=backup';
    expect(await data(demo, { path, authorization: as('readOnly') })).toEqual([]);
    const backups = await data<readonly { readonly volid: string }[]>(demo, { path, authorization: as('ops') });
    expect(backups.map((one) => one.volid.slice(0, 28))).toEqual([
      'local:backup/vzdump-lxc-201-',
      'local:backup/vzdump-qemu-100',
      'local:backup/vzdump-qemu-100',
    ]);
  });

  it.each([
    [['Datastore.Audit', 'VM.Backup'], 0],
    [['Datastore.Audit', 'Datastore.AllocateSpace'], 0],
    [['Datastore.AllocateSpace', 'VM.Backup'], 1],
    [['Datastore.Audit', 'Datastore.Allocate'], 1],
  ])('show, with %j, %i of the backups', async (privileges, count) => {
    const access = { ...labState.access, roles: { ...labState.access.roles, Ops: privileges } };
    const lab = await startDemoCluster({ state: { ...labState, access } });
    const path = '/nodes/pve/storage/local/content?content=backup';
    expect(await data(lab, { path, authorization: lab.authorization[labTokens.ops] })).toHaveLength(count);
    await lab.close();
  });

  it('do not let even a token of root use what only root may', async () => {
    const answer = await post('/nodes/pve/qemu/100/status/start', { skiplock: '1' }, 'root');
    expect(errorsOf(answer)).toEqual({ skiplock: 'Only root may use this option.' });
  });

  it('let a token ask about itself, not about others', async () => {
    expect(await data(demo, { path: '/access/permissions?path=/vms/100', authorization: as('ops') })).toMatchObject({
      '/vms/100': { 'VM.PowerMgmt': 1, 'VM.Backup': 1 },
    });
    expect(line(await get('/access/permissions?userid=root@pam', 'nobody'))).toBe('403 Permission check failed (/access, Sys.Audit)');
  });

  it('hide other users’ tasks', async () => {
    expect(await data(demo, { path: '/nodes/pve/tasks', authorization: as('nobody') })).toEqual([]);
    const tasks = await data<readonly { readonly user: string }[]>(demo, { path: '/cluster/tasks', authorization: as('readOnly') });
    expect(tasks.length).toBeGreaterThan(3);
  });
});

describe('tokens and tickets', () => {
  it('refuses an expired token with an empty 401', async () => {
    const answer = await get('/version', 'expired');
    expect([line(answer), answer.body, answer.headers['content-type']]).toEqual(['401 Authentication failed!', '', undefined]);
  });

  it('does not give a ticket to a token', async () => {
    const answer = await post('/access/ticket', { username: 'root@pam', password: 'x' });
    expect(line(answer)).toBe("403 Permission check failed (URI '/access/ticket' not available with API token, need proper ticket.");
  });

  it('takes a cookie and its CSRF token, not the one without the other', async () => {
    const lab = await startDemoCluster({ state: labState });
    const ticket = await data<{ readonly ticket: string; readonly CSRFPreventionToken: string }>(lab, {
      method: 'POST',
      path: '/access/ticket',
      form: { username: 'jarvis', realm: 'pve', password: labPassword },
    });
    const headers = { Cookie: `PVEAuthCookie=${encodeURIComponent(ticket.ticket)}`, CSRFPreventionToken: ticket.CSRFPreventionToken };
    const path = '/nodes/pve/qemu/100/status/start';
    expect((await call(lab, { method: 'POST', path, headers })).status).toBe(200);
    expect((await call(lab, { method: 'POST', path, headers: { Cookie: headers.Cookie } })).status).toBe(401);
    expect((await call(lab, { path: '/version', headers: { Cookie: 'PVEAuthCookie=PVE:jarvis@pve:00000000::nonsense' } })).status).toBe(
      401,
    );
    expect((await call(lab, { path: '/version', authorization: lab.authorization[labTokens.ops] })).status).toBe(200);
    await lab.close();
  });
});

describe('bodies', () => {
  const path = '/nodes/pve/qemu/101/status/start';

  it('takes JSON and looks at its types', async () => {
    const answer = await call(demo, {
      method: 'POST',
      path,
      json: { timeout: [1], skiplock: 'yes', reason: 'because' },
      authorization: as('ops'),
    });
    expect(errorsOf(answer)).toEqual({
      timeout: "type check ('integer') failed - got ARRAY",
      skiplock: "type check ('boolean') failed - got 'yes'",
      reason: 'property is not defined in schema and the schema does not allow additional properties',
    });
  });

  it('answers 500 to what is no JSON', async () => {
    const answer = await call(demo, {
      method: 'POST',
      path,
      raw: '{"timeout":',
      headers: { 'Content-Type': 'application/json' },
      authorization: as('ops'),
    });
    expect(answer.status).toBe(500);
    expect(answer.statusMessage).toMatch(/^malformed JSON string/);
  });

  it('refuses more than 512 KiB, bodies of GET and DELETE, chunks and other types', async () => {
    expect(line(await call(demo, { method: 'POST', path, raw: 'x'.repeat(512 * 1024 + 1), authorization: as('ops') }))).toBe(
      '501 for data too large',
    );
    expect(line(await call(demo, { method: 'DELETE', path: '/nodes/pve/tasks/x', form: { a: '1' }, authorization: as('ops') }))).toBe(
      "501 Unexpected content for method 'DELETE'",
    );
    expect(
      line(await call(demo, { method: 'POST', path, raw: 'a=1', headers: { 'Content-Type': 'text/plain' }, authorization: as('ops') })),
    ).toBe("506 upload 'Content-Type 'text/plain' not implemented");
    expect(line(await call(demo, { method: 'POST', path, headers: { 'Transfer-Encoding': 'chunked' }, authorization: as('ops') }))).toBe(
      '501 chunked transfer encoding not supported',
    );
  });

  it('closes the connection after an error and keeps it otherwise', async () => {
    expect((await get('/version')).headers.connection).toBe('Keep-Alive');
    expect((await get('/nosuch')).headers.connection).toBe('close');
  });

  it('closes it after the hundredth answer, and says so', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    const ask = () =>
      new Promise<string>((resolve, reject) => {
        const options = { agent, headers: { Authorization: as('ops') ?? '' } };
        request(`${demo.url}/api2/json/version`, options, (answer) => {
          answer.resume().once('end', () => resolve(`${answer.statusCode} ${answer.headers.connection}`));
        })
          .once('error', reject)
          .end();
      });
    const answers: string[] = [];
    for (let index = 0; index < 103; index += 1) answers.push(await ask());
    agent.destroy();
    const kept = (count: number) => Array.from({ length: count }, () => '200 Keep-Alive');
    expect(answers).toEqual([...kept(99), '200 close', ...kept(3)]);
  });

  it('compresses long answers for those who can read them', async () => {
    const answer = await call(demo, { path: '/cluster/resources', authorization: as('ops'), headers: { 'Accept-Encoding': 'gzip' } });
    expect(answer.headers['content-encoding']).toBe('gzip');
  });

  it('refuses a value that contradicts the path', async () => {
    expect(errorsOf(await post(path, { vmid: '103' }))).toEqual({
      vmid: 'duplicate parameter (already defined in URI) with conflicting values!',
    });
    expect(errorsOf(await call(demo, { path: '/nodes/pve/status?node=agent1', authorization: as('ops') }))).toEqual({
      node: 'duplicate parameter (already defined in URI) with conflicting values!',
    });
  });
});

describe('guests', () => {
  it('answer a container’s impossible action at once and a VM’s in its task', async () => {
    expect(line(await post('/nodes/pve/lxc/201/status/start'))).toBe('500 CT 201 already running');
    expect(line(await post('/nodes/pve/lxc/999/status/stop'))).toBe('500 CT 999 not running');
    expect(line(await post('/nodes/pve/lxc/999/status/reboot'))).toBe('500 VM 999 not running');
    expect(line(await post('/nodes/Home/qemu/101/status/reboot'))).toBe('500 VM 101 not running');
    expect(line(await post('/nodes/pve/qemu/999/status/reboot'))).toBe("500 unable to find configuration file for VM 999 on node 'pve'");
    expect(line(await post('/nodes/pve/qemu/999/status/stop'))).toBe('200 OK');
  });

  it('stay as they were told', async () => {
    const upid = await data<string>(demo, { method: 'POST', path: '/nodes/pve/qemu/100/status/stop', authorization: as('ops') });
    const task = `/nodes/pve/tasks/${encodeURIComponent(upid)}/status`;
    expect(await data(demo, { path: task, authorization: as('ops') })).toMatchObject({
      status: 'running',
      user: 'ops@pve',
      tokenid: 'banksman',
    });
    clock.advance(1000);
    expect(await data(demo, { path: task, authorization: as('ops') })).toMatchObject({ status: 'stopped', exitstatus: 'OK' });
    expect(await data(demo, { path: '/nodes/pve/qemu/100/status/current', authorization: as('ops') })).toMatchObject({
      status: 'stopped',
      qmpstatus: 'stopped',
      uptime: 0,
    });
  });

  it('are up again only after a reboot’s task has ended: root starts a VM in a task of its own', async () => {
    await post('/nodes/pve/qemu/100/status/start');
    clock.advance(5000);
    const upid = await data<string>(demo, { method: 'POST', path: '/nodes/pve/qemu/100/status/reboot', authorization: as('ops') });
    clock.advance(1000);
    expect(await data(demo, { path: `/nodes/pve/tasks/${encodeURIComponent(upid)}/status`, authorization: as('ops') })).toMatchObject({
      exitstatus: 'OK',
    });
    expect(await data(demo, { path: '/nodes/pve/qemu/100/status/current', authorization: as('ops') })).toMatchObject({ status: 'stopped' });
    clock.advance(2000);
    expect(await data(demo, { path: '/nodes/pve/qemu/100/status/current', authorization: as('ops') })).toMatchObject({
      status: 'running',
      uptime: 0,
    });
    const [last] = await data<readonly object[]>(demo, { path: '/nodes/pve/tasks?limit=1', authorization: as('ops') });
    expect(last).toMatchObject({ type: 'qmstart', user: 'root@pam', status: 'OK' });
  });

  it('wait for each other’s lock', async () => {
    const first = await data<string>(demo, { method: 'POST', path: '/nodes/pve/qemu/100/status/stop', authorization: as('ops') });
    const second = await data<string>(demo, { method: 'POST', path: '/nodes/pve/qemu/100/status/start', authorization: as('ops') });
    clock.advance(3000);
    const log = (upid: string) =>
      data<readonly { readonly t: string }[]>(demo, { path: `/nodes/pve/tasks/${encodeURIComponent(upid)}/log`, authorization: as('ops') });
    expect((await log(first)).map((row) => row.t)).toEqual(['TASK OK']);
    expect((await log(second)).map((row) => row.t)).toEqual(['trying to acquire lock...', ' OK', 'TASK OK']);
  });

  it('tell their cloud-init address', async () => {
    expect(await data(demo, { path: '/nodes/agent1/qemu/103/config', authorization: as('ops') })).toMatchObject({
      ipconfig0: 'ip=192.168.1.65/24,gw=192.168.1.1',
      digest: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
  });
});

describe('lists of tasks', () => {
  it('filter, page and count', async () => {
    const list = async (query: string) =>
      (await get(`/nodes/pve/tasks?${query}`)).body as {
        readonly data: readonly { readonly type: string; readonly status: string }[];
        readonly total?: number;
      };
    expect((await list('typefilter=vzstart')).data.every((row) => row.type === 'vzstart')).toBe(true);
    expect((await list('errors=1')).data.map((row) => row.status)).toContain('VM is locked (backup)');
    expect((await list('statusfilter=warning')).data.map((row) => row.status)).toEqual(['WARNINGS: 1']);
    const all = await list('limit=500');
    expect(await list('start=1&limit=1')).toEqual({ data: [all.data[1]], total: all.total });
    expect((await list('vmid=123456')).total).toBeUndefined();
    expect(errorsOf(await get('/nodes/pve/tasks?statusfilter=odd'))).toEqual({ statusfilter: "invalid format - invalid status 'odd'\n" });
  });

  it('know a task only on its own node', async () => {
    const [task] = await data<readonly { readonly upid: string }[]>(demo, { path: '/nodes/pve/tasks?limit=1', authorization: as('ops') });
    expect(errorsOf(await get(`/nodes/Home/tasks/${encodeURIComponent(task?.upid ?? '')}/status`))).toEqual({ upid: 'no such task' });
  });
});

describe('storage, services, wake on LAN, backup', () => {
  it('describes an unknown storage in two ways, as PVE does', async () => {
    expect(errorsOf(await get('/nodes/pve/storage/nosuch/status'))).toEqual({ storage: 'No such storage.' });
    expect(line(await get('/nodes/pve/storage/nosuch/content'))).toBe("500 storage 'nosuch' does not exist");
  });

  it('restarts a service in a task, and shows one that fails', async () => {
    const upid = await data<string>(demo, { method: 'POST', path: '/nodes/pve/services/cron/restart', authorization: as('root') });
    expect(upid).toMatch(/^UPID:pve:[0-9A-F]{8}:[0-9A-F]{8}:[0-9A-F]{8}:srvrestart:cron:root@pam!banksman:$/);
    expect(line(await post('/nodes/pve/services/cron/restart'))).toBe('403 Permission check failed (/nodes/pve, Sys.Modify)');
    expect(errorsOf(await post('/nodes/pve/services/docker/restart', {}, 'root'))).toEqual({
      service: expect.stringMatching(/^value 'docker' does not have a value in the enumeration 'chrony, corosync/),
    });
  });

  it('wakes another node, never itself, and says which address it used', async () => {
    expect(await data(demo, { method: 'POST', path: '/nodes/agent1/wakeonlan', authorization: as('ops') })).toBe('bc:24:11:aa:00:61');
    expect(line(await post('/nodes/localhost/wakeonlan'))).toBe("500 'localhost' is local node, cannot wake my self!");
    expect(line(await post('/nodes/nosuch/wakeonlan'))).toBe("500 no such cluster node 'nosuch'");
  });

  it('makes a backup that is then listed', async () => {
    const upid = await data<string>(demo, {
      method: 'POST',
      path: '/nodes/pve/vzdump',
      form: { vmid: '201', storage: 'nas' },
      authorization: as('ops'),
    });
    clock.advance(10_000);
    expect(await data(demo, { path: `/nodes/pve/tasks/${encodeURIComponent(upid)}/status`, authorization: as('ops') })).toMatchObject({
      type: 'vzdump',
      id: '201',
      exitstatus: 'OK',
    });
    const onNas = await data<readonly { readonly vmid: number }[]>(demo, {
      path: '/nodes/Home/storage/nas/content?content=backup&vmid=201',
      authorization: as('ops'),
    });
    expect(onNas).toHaveLength(1);
  });

  it('shuts a node down and boots it again', async () => {
    expect(
      await data(demo, { method: 'POST', path: '/nodes/agent1/status', form: { command: 'reboot' }, authorization: as('ops') }),
    ).toBeNull();
    const online = async () =>
      (await data<readonly { readonly node: string; readonly status: string }[]>(demo, { path: '/nodes', authorization: as('ops') })).find(
        (row) => row.node === 'agent1',
      )?.status;
    expect(await online()).toBe('online');
    clock.advance(3000);
    expect(await online()).toBe('offline');
    clock.advance(30_000);
    expect(await online()).toBe('online');
    expect(demo.cluster.state.guests.get(103)?.running).toBe(false);
  });
});

describe('certificates', () => {
  it('are as PVE makes them: the node’s name, loopback and its address, issued by the cluster', async () => {
    const url = new URL(demo.url);
    const certificate = await new Promise<PeerCertificate>((resolve, reject) => {
      const socket = connect({ host: url.hostname, port: Number(url.port), rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate());
        socket.destroy();
      });
      socket.on('error', reject);
    });
    expect(certificate.fingerprint256).toBe(demo.fingerprint);
    expect(certificate.subject.CN).toBe('Home');
    expect(certificate.issuer.CN).toBe('Proxmox Virtual Environment demo');
    expect(certificate.subjectaltname).toContain('IP Address:192.168.1.50');
  });
});
