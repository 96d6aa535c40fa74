import { describe, expect, it } from 'vitest';
import { createPins } from '#connectors/proxmox/pins';

const [one, two, three] = ['11', '22', '33'].map((pair) => Array.from({ length: 32 }, () => pair).join(':')) as [string, string, string];
const origins = ['https://a:8006', 'https://b:8006'];

describe('pins', () => {
  it('one for all counts for each endpoint', () => {
    const pins = createPins(one, origins);
    expect(origins.map((origin) => pins.accepts(origin, one))).toEqual([true, true]);
    expect(pins.accepts('https://a:8006', two)).toBe(false);
    expect(pins.accepts('https://elsewhere', one)).toBe(false);
  });

  it('per endpoint count for theirs only, however the URL is written', () => {
    const pins = createPins({ 'https://A:8006/': one, 'https://b:8006/x': two.toLowerCase() }, origins);
    expect([pins.accepts('https://a:8006', one), pins.accepts('https://b:8006', one), pins.accepts('https://b:8006', two)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(pins.expected('https://b:8006')).toBe(two);
  });

  it('learn only where one stands for several', () => {
    const single = createPins(one, ['https://a:8006']);
    const mapped = createPins({ 'https://a:8006': one, 'https://b:8006': two }, origins);
    for (const pins of [single, mapped]) {
      expect(pins.canLearn).toBe(false);
      pins.learn([three]);
      expect(pins.accepts('https://a:8006', three)).toBe(false);
    }
    const several = createPins(one, origins);
    several.learn([three]);
    expect(several.accepts('https://b:8006', three)).toBe(true);
  });

  it('forget what was learned before', () => {
    const pins = createPins(one, origins);
    pins.learn([two]);
    pins.learn([three]);
    expect([two, three, one].map((fingerprint) => pins.accepts('https://a:8006', fingerprint))).toEqual([false, true, true]);
  });
});
