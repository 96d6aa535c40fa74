import { describe, expect, it } from 'vitest';
import { wakeApiUrl } from '#connectors/wake-on-lan/create-waker';

describe('wakeApiUrl', () => {
  it.each([
    ['http://192.168.1.65:3005/wake/{node}', 'pve', 'http://192.168.1.65:3005/wake/pve'],
    ['http://192.168.1.65:3005/wake/%7Bnode%7D', 'pve', 'http://192.168.1.65:3005/wake/pve'],
    ['https://wol.lan/?host={node}&again={node}', 'my_node', 'https://wol.lan/?host=my_node&again=my_node'],
    ['http://wol.lan/wake/{node}', 'a/../../admin?x=1#y', 'http://wol.lan/wake/a%2F..%2F..%2Fadmin%3Fx%3D1%23y'],
    ['http://wol.lan/wake/{node}', '@evil.lan:80/', 'http://wol.lan/wake/%40evil.lan%3A80%2F'],
    ['http://wol.lan/wake/{node}', "$&'", "http://wol.lan/wake/%24%26'"],
  ])('%s of %s', (template, node, expected) => {
    expect(wakeApiUrl(template, node).href).toBe(expected);
  });
});
