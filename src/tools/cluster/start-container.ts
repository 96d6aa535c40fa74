import { defineGuestLifecycle } from '../support/guest-lifecycle.ts';

export const startContainer = defineGuestLifecycle({
  name: 'start_container',
  title: 'Start container',
  description:
    'Start a Proxmox VE container (lxc) and wait for the task to end. Returns the task exit status and the new state. A person approves each call first: it may answer pending with a request id; then call check_request_status and, once approved, repeat the same call.',
  guestType: 'lxc',
  action: 'start',
  impact: 'reversible',
  verb: 'Start',
  done: 'started',
});
