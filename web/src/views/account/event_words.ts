// Types of events in people's words, and the page each is about.
const groups: Record<string, [title: string, types: Record<string, string>]> = {
    rental: ['Rentals', {
        reserved: 'A machine was reserved', starting: 'A rental is starting', running: 'A rental runs',
        budget_raised: 'A budget was raised', funds_low: 'A budget is nearly used',
        egress_low: 'Most of the included traffic is used', engine_down: 'An engine went down; nothing is billed',
        engine_up: 'An engine answers again', gpu_lost: 'A GPU fell silent; nothing is billed',
        gpu_back: 'All GPUs answer again', unreachable: 'A host fell silent', reachable: 'A host is heard again',
        uncarried: 'A gate does not carry a rental; after a minute nothing is billed',
        carried: 'A gate carries a rental again',
        preemption_noticed: 'A host takes its machine back', stopping: 'A rental is being stopped',
        stopped: 'A rental was stopped and settled', failed: 'A rental never came up; nothing was billed',
        closed: 'A rental is over',
    }],
    funding: ['Money in', {
        confirmed: 'Money arrived', exception: 'A payment does not match', cancelled: 'A payment was called off',
    }],
    withdrawal: ['Withdrawals', {
        awaiting_email_confirmation: 'A withdrawal waits for the mailed link', intent: 'A withdrawal is in line',
        submitted: 'A withdrawal is on the chain', settled: 'A withdrawal was paid',
        failed: 'A withdrawal failed; the money is back', expired: 'A withdrawal was not confirmed in time',
        cancelled: 'A withdrawal was called off',
    }],
    refund: ['Refunds and disputes', { posted: 'A refund was booked' }],
    dispute: ['Refunds and disputes', { opened: 'A charge is disputed', closed: 'A dispute was decided' }],
    hosting: ['Hosting', { started: 'A rental on your machine earns', ended: 'A rental on your machine is over' }],
    machine: ['Machines', {
        enrolled: 'A machine came in', test_passed: 'A machine passed its test',
        test_failed: 'A machine failed its test',
        available: 'A machine is for rent', allocated: 'A machine was rented', cleaning: 'A machine is being wiped',
        draining: 'A machine has its last rental', unlisted: 'A machine is off the market',
        listing_rejected: 'A machine could not be put up', unqualified: 'A machine is to be tested',
        quarantined: 'A machine was set aside', silent: 'A machine fell silent', heard: 'A machine is heard again',
        health: 'A machine told of trouble', retired: 'A machine is gone for good',
    }],
    offer: ['Offers', {
        published: 'A price was published', listed: 'An offer is for rent', unlisted: 'An offer was taken back',
        draining: 'An offer ends with its rental',
    }],
    payout: ['Payouts', {
        awaiting_email_confirmation: 'A payout waits for the mailed link', intent: 'A payout is in line',
        submitted: 'A payout is on the chain', settled: 'A payout was paid',
        failed: 'A payout failed; the money is back', expired: 'A payout was not confirmed in time',
        cancelled: 'A payout was called off',
    }],
    ticket: ['Help', { answered: 'Support answered', closed: 'Support closed a ticket' }],
    webhook: ['Webhooks', {
        failing: 'Nothing gets through to a webhook', disabled: 'A webhook was disabled', test: 'A webhook was tested',
    }],
    account: ['Account', {
        ask_new_email: 'Another mail address was asked for', change_email: 'The mail address was changed',
        enable_authenticator: 'An authenticator was turned on', remove_authenticator: 'The authenticator was removed',
        use_recovery_code: 'A recovery code was used', end_sessions: 'All sessions were ended',
        make_api_key: 'An API key was made', revoke_api_key: 'An API key was revoked',
        link_wallet: 'A wallet was linked', unlink_wallet: 'A wallet was unlinked',
    }],
};

/** What can be filtered by: the first word of the types, and its title. */
export const eventGroups: [name: string, title: string][] = Object.entries(groups).map(([name, [title]]) =>
    [name, name === 'refund' ? 'Refunds' : name === 'dispute' ? 'Disputes' : title]);

function split(type: string): [group: string, rest: string] {
    const dot = type.indexOf('.');
    return [type.slice(0, dot), type.slice(dot + 1)];
}

export function eventWords(type: string): string {
    const [group, rest] = split(type);
    return groups[group]?.[1][rest] ?? type;
}

export function eventGroup(type: string): string {
    const [group] = split(type);
    return groups[group]?.[0] ?? group;
}

/** The page of what an event is about, where there is one. */
export function eventPage({ kind, id }: { kind: string; id: string }, type: string): string | undefined {
    const places: Record<string, string> = {
        rental: type.startsWith('hosting.') ? '/host' : `/rentals/${id}`, machine: `/host/machines/${id}`,
        funding_intent: `/money/add/${id}`, withdrawal: '/money/withdraw', payout: '/host/payouts',
        ticket: `/help/${id}`, webhook: `/account/webhooks?id=${id}`, account: '/account/security', refund: '/money',
    };
    return places[kind];
}
