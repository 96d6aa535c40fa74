import { beforeEach, describe, expect, it } from 'vitest';
import type { Endpoint } from '#connectors/proxmox/endpoint';
import { createEndpointOrder, type EndpointOrder } from '#connectors/proxmox/transport';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';

const [a, b, c] = ['a', 'b', 'c'].map(
  (origin): Endpoint => ({ origin, send: () => Promise.reject(new Error('unused')), close: () => Promise.resolve() }),
) as [Endpoint, Endpoint, Endpoint];

describe('the order of endpoints', () => {
  let clock: FakeClock;
  let order: EndpointOrder;
  const origins = () =>
    order
      .list()
      .map((one) => one.origin)
      .join('');
  beforeEach(() => {
    clock = createFakeClock();
    order = createEndpointOrder([a, b, c], clock);
  });

  it('is as configured at first', () => {
    expect(origins()).toBe('abc');
  });

  it('begins with the one that answered last', () => {
    order.succeeded(c);
    expect(origins()).toBe('cab');
  });

  it('ends with those that failed, for half a minute', async () => {
    order.failed(a);
    expect(origins()).toBe('bca');
    expect(order.isResting(a)).toBe(true);
    await clock.advance(29_999);
    expect(origins()).toBe('bca');
    await clock.advance(1);
    expect(origins()).toBe('abc');
    expect(order.isResting(a)).toBe(false);
  });

  it('never leaves one out', () => {
    for (const one of [a, b, c]) order.failed(one);
    expect(origins()).toBe('abc');
  });

  it('forgives at once on success', () => {
    order.failed(b);
    order.succeeded(b);
    expect(origins()).toBe('bac');
  });

  it('puts the last good one behind when it fails', () => {
    order.succeeded(a);
    order.failed(a);
    expect(origins()).toBe('bca');
  });
});
