import { describe, expect, it } from 'vitest';
import { resultPage } from '#hosts/vscode/commands/result-page';
import type { JsonObject, JsonValue } from '#kernel/json';
import { formatField, rowField } from '#kernel/text/result-fields';

const page = (result: JsonValue, message = '2 VMs') => resultPage('Get VMs', { status: 'ok', code: 'ok', message, result })('n0nce');
/** What a person sees before unfolding anything. */
const shown = (result: JsonValue, message?: string) => page(result, message).replace(/<details>.*<\/details>/s, '');
const headers = (markup: string) => [...markup.matchAll(/<th scope="col">([^<]*)</g)].map((match) => match[1]);
const cells = (markup: string) => [...markup.matchAll(/<td data-title="[^"]*">([^<]*)</g)].map((match) => match[1]);

const web = { id: 'qemu/100', netin: 5, uptime: 7500, status: 'running', vmid: 100, node: 'pve', name: 'web', cpu: 0.089, template: 0 };

describe('resultPage', () => {
  it('is a table in words, with what people look for first, and no count beside it', () => {
    const text = shown({ vms: [{ ...web, mem: 2 ** 30, maxmem: 2 ** 31 }], total: 1 });
    expect(headers(text)).toEqual(['Name', 'ID', 'Node', 'Status', 'CPU', 'Memory', 'Uptime']);
    expect(cells(text)).toEqual(['web', '100', 'pve', 'running', '8.9\u00a0%', '1.0\u00a0GiB of 2.0\u00a0GiB', '2\u00a0h 5\u00a0min']);
    expect(text).toContain('<h2>Virtual machines</h2>');
    for (const stray of ['total', 'vmid', 'netin', 'maxmem']) expect(text, stray).not.toMatch(new RegExp(`>${stray}<`));
  });

  it('breaks only what is longer than a word', () => {
    const text = shown({ backups: [{ vmid: 100, notes: 'web', volid: 'nas:backup/vzdump-qemu-100-2026_11_20.vma.zst' }] });
    expect(text).toContain('<td data-title="Volume" class="long">nas:');
    expect(text).toContain('<td data-title="Notes">web<');
  });

  it('keeps the rest behind a fold', () => {
    expect(page({ vms: [web], total: 1 })).toMatch(/<details>.*&quot;netin&quot;: 5.*<\/details>/s);
  });

  it('lays an object out flat, and leaves out what has no name for people', () => {
    const text = shown({
      node: 'pve',
      memory: { total: 2 ** 34, used: 2 ** 33 },
      loadavg: [1, 2],
      cpuinfo: { model: 'Xeon', flags: 'fpu vme' },
    });
    expect(text).toContain('<th scope="row">Memory</th><td>8.0\u00a0GiB of 16.0\u00a0GiB</td>');
    expect(text).toContain('<th scope="row">Load (1, 5, 15 min)</th><td>1, 2</td>');
    expect(text).toContain('<th scope="row">Processor</th><td>Xeon</td>');
    expect(text).not.toContain('fpu');
  });

  it('of the cluster says how the certificate of each endpoint is known', () => {
    const text = shown({ endpoints: [{ endpoint: 'https://10.0.0.11:8006', node: 'pve', certificate: 'pinned' }] });
    expect(text).toContain('<h2>API endpoints</h2>');
    expect(headers(text)).toEqual(['Endpoint', 'Node', 'Certificate']);
    expect(cells(text)).toEqual(['pve', 'pinned']);
    // Longer than a word, so that it may be broken.
    expect(text).toContain('class="long">https://10.0.0.11:8006<');
  });

  it('of a list that it does not know names nothing as the API does', () => {
    const text = shown({ ceph_pools: [{ pg_num: 8, crushRule: 'replicated' }], vms_left_out: 3 });
    expect(text).toContain('<h2>Ceph pools</h2>');
    expect(headers(text)).toEqual(['Pg num', 'Crush rule']);
  });

  it('shows what a program printed as it printed it', () => {
    expect(shown({ node: 'pve', stdout: 'a  b\nc\n', stderr: '', exit_code: 0 })).toMatch(/<h2>Output<\/h2><pre>a {2}b\nc<\/pre>/);
  });

  it('says when there is nothing, and when there is more', () => {
    expect(shown({ vms: [], total: 0 }, '0 VMs')).toContain('Nothing there.');
    expect(page(Array.from({ length: 501 }, (_, n) => ({ n: n + 1 })))).toContain('1 more are not shown.');
    // How a model gets the rest is nothing to a person.
    expect(page({ vms: [web] }, '1 of 6 VMs (pass `cursor` for more), 1 running')).toContain('1 of 6 VMs, 1 running.');
  });

  it('shows a guest’s name as it is, runs nothing and asks for nothing', () => {
    const text = page({ vms: [{ vmid: 1, name: '<script>x</script><img src=https://evil.example>' }] });
    expect(text).toContain('&lt;script&gt;');
    expect(text).not.toMatch(/<script|<img/);
    expect(text).toContain("default-src 'none'; style-src 'nonce-n0nce'");
  });

  it.each([null, 'text', 7, [1, 'a'], {}])('takes any result: %j', (result) => {
    expect(page(result)).toContain('2 VMs.');
  });
});

describe('rowField', () => {
  it.each<readonly [JsonObject, string, string]>([
    [{ mem: 0, maxmem: 2 ** 30, status: 'stopped' }, 'mem', '1.0\u00a0GiB'],
    [{ disk: 2 ** 40, maxdisk: 2 ** 42 }, 'disk', '1.0\u00a0TiB of 4.0\u00a0TiB'],
    [{ cpu: 0, status: 'stopped' }, 'cpu', ''],
    [{ cpu: 0, status: 'running' }, 'cpu', '0.0\u00a0%'],
    [{ status: 'stopped', template: 1 }, 'status', 'template'],
    [{ status: 'stopped', lock: 'backup' }, 'status', 'stopped, locked (backup)'],
    [{ status: 'running', template: 0, lock: '' }, 'status', 'running'],
    [{ type: 'qemu' }, 'type', 'VM'],
    [{ type: 'vzdump' }, 'type', 'Backup'],
    [{ type: 'something-new' }, 'type', 'something-new'],
    [{ storage: 'nas', node: 'pve' }, 'name', 'nas'],
    [{ node: 'pve' }, 'name', 'pve'],
  ])('%j, %s: %s', (row, name, text) => {
    expect(rowField(row, name)).toBe(text);
  });
});

describe('formatField', () => {
  it.each([
    ['mem', 0, '0'],
    ['mem', 2 ** 20, '1\u00a0MiB'],
    ['total', 6, '6'],
    ['cpu', 1, '100.0\u00a0%'],
    ['cpu', 4, '4'],
    ['uptime', 0, ''],
    ['uptime', 59, '0\u00a0min'],
    ['uptime', 90_000, '1\u00a0d 1\u00a0h'],
    ['vmid', 100, '100'],
    ['name', null, ''],
    ['flag', true, 'yes'],
    ['tags', 'prod;web', 'prod, web'],
    ['celsius', 48.5, '48.5\u00a0°C'],
  ] as const)('%s %j: %s', (name, value, text) => {
    expect(formatField(name, value)).toBe(text);
  });

  it('of a time is the reader’s own, with the year where it is another one', () => {
    expect(formatField('starttime', 1_577_880_000)).toMatch(/^(Jan 1, 2020|Dec 31, 2019|Jan 2, 2020), \d\d:\d\d$/);
  });
});
