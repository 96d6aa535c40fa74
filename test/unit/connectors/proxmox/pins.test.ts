import { describe, expect, it } from 'vitest';
import { createPins } from '#connectors/proxmox/pins';

const [one, two, three] = ['11', '22', '33'].map((pair) => Array.from({ length: 32 }, () => pair).join(':')) as [string, string, string];
const clock = { now: () => 1_000_000 };
const origins = ['https://a:8006', 'https://b:8006'];

describe('pins', () => {
  it('one for all counts for each endpoint', () => {
    const pins = createPins(one, origins, clock);
    expect(origins.map((origin) => pins.accepts(origin, one))).toEqual([true, true]);
    expect(pins.accepts('https://a:8006', two)).toBe(false);
    expect(pins.accepts('https://elsewhere', one)).toBe(false);
  });

  it('per endpoint count for theirs only, however the URL is written', () => {
    const pins = createPins({ 'https://A:8006/': one, 'https://b:8006/x': two.toLowerCase() }, origins, clock);
    expect([pins.accepts('https://a:8006', one), pins.accepts('https://b:8006', one), pins.accepts('https://b:8006', two)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(pins.expected('https://b:8006')).toBe(two);
  });

  const nodes = (fingerprint: string) => new Map([['pve', fingerprint]]);

  it('learn only where one stands for several', () => {
    const single = createPins(one, ['https://a:8006'], clock);
    const mapped = createPins({ 'https://a:8006': one, 'https://b:8006': two }, origins, clock);
    for (const pins of [single, mapped]) {
      expect(pins.pinned).toBeUndefined();
      expect(pins.accepts('https://a:8006', one)).toBe(true);
      pins.learn(nodes(three), 'https://a:8006');
      expect(pins.accepts('https://a:8006', three)).toBe(false);
      expect(pins.known('https://a:8006')).toBe('pinned');
    }
    const several = createPins(one, origins, clock);
    several.accepts('https://a:8006', one);
    several.learn(nodes(three), 'https://a:8006');
    expect(several.accepts('https://b:8006', three)).toBe(true);
  });

  it('take nothing from an endpoint that was never let in', () => {
    const pins = createPins(one, origins, clock);
    expect(pins.accepts('https://b:8006', three)).toBe(false);
    pins.learn(nodes(three), 'https://b:8006');
    expect(pins.accepts('https://b:8006', three)).toBe(false);
  });

  it('forget what was learned before', () => {
    const pins = createPins(one, origins, clock);
    pins.accepts('https://a:8006', one);
    pins.learn(nodes(two), 'https://a:8006');
    pins.learn(nodes(three), 'https://a:8006');
    expect([two, three, one].map((fingerprint) => pins.accepts('https://a:8006', fingerprint))).toEqual([false, true, true]);
  });

  it('count from the last word of the pinned node: others vouch for each other, but prolong nothing', () => {
    let now = 0;
    const pins = createPins(one, origins, { now: () => now });
    const days = (count: number) => {
      now = count * 86_400_000;
    };
    pins.accepts('https://a:8006', one);
    pins.learn(nodes(two), 'https://a:8006');
    days(20);
    expect(pins.accepts('https://b:8006', two)).toBe(true);
    pins.learn(nodes(three), 'https://b:8006');
    expect(pins.accepts('https://b:8006', three)).toBe(true);
    days(31);
    expect(pins.accepts('https://b:8006', three)).toBe(false);
  });

  it('of an earlier process count where they are newer, and never from the future', () => {
    const pins = createPins(one, origins, clock);
    pins.restore({ nodes: nodes(two), vouchedAt: 2_000_000 });
    expect(pins.accepts('https://b:8006', two)).toBe(false);
    pins.restore({ nodes: nodes(two), vouchedAt: 900_000 });
    expect(pins.accepts('https://b:8006', two)).toBe(true);
    pins.restore({ nodes: nodes(three), vouchedAt: 800_000 });
    expect(pins.accepts('https://b:8006', three)).toBe(false);
  });

  it('tell which node is where: by its certificate, its address or its name', () => {
    const pins = createPins(one, ['https://10.0.0.1:8006', 'https://10.0.0.2:8006', 'https://agent1.lan:8006', 'https://vip:8006'], clock);
    expect(pins.known('https://vip:8006')).toBe('unknown');
    pins.accepts('https://10.0.0.1:8006', one);
    pins.learn(
      new Map([
        ['Home', one],
        ['pve', two],
        ['Agent1', three],
      ]),
      'https://10.0.0.1:8006',
    );
    pins.noteAddresses(new Map([['pve', '10.0.0.2']]));
    const told = (host: string) => [pins.nodeAt(`https://${host}:8006`), pins.known(`https://${host}:8006`)];
    expect(told('10.0.0.1')).toEqual(['Home', 'pinned']);
    expect(told('10.0.0.2')).toEqual(['pve', 'learned']);
    expect(told('agent1.lan')).toEqual(['Agent1', 'learned']);
    expect(told('vip')).toEqual([undefined, 'unseen']);
    pins.accepts('https://vip:8006', three);
    expect(told('vip')).toEqual(['Agent1', 'learned']);
  });
});
