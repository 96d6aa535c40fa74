import { describe, expect, it } from 'vitest';
import { isInsideSandbox } from '#app/for-hosts';

const root = '21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw';

describe('the mounts of a process', () => {
  it('give a sandboxed command away, wherever the line stands', () => {
    const home = '513 500 0:92 / /run/banksman rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=65536k,mode=755';
    expect(isInsideSandbox(`${root}\n${home}\n`)).toBe(true);
    expect(isInsideSandbox(`${home.replace('relatime -', 'relatime master:3 propagate_from:2 -')}\n${root}`)).toBe(true);
  });

  it.each([
    '',
    root,
    '90 21 8:2 / /run/banksman rw - ext4 /dev/sdb1 rw',
    '90 21 0:9 / /run/banksman2 rw - tmpfs tmpfs rw',
    '90 21 0:9 /run/banksman /mnt rw - tmpfs tmpfs rw',
  ])('are a person’s own: %j', (mounts) => {
    expect(isInsideSandbox(mounts)).toBe(false);
  });

  it('of this process say no', () => {
    expect(isInsideSandbox()).toBe(false);
  });
});
