// How one gets in, and how one leaves.
import { useChange, useRead } from '../../api';
import { When } from '../../format';
import { Button, Failure, Notice } from '../../kit';
import { Authenticator } from './authenticator';
import { Closing } from './closing';
import { ChangeEmail } from './email';
import { Export } from './export';

export function Security() {
    return <div class="stack">
        <Recoveries />
        <div class="two">
            <Authenticator />
            <ChangeEmail />
        </div>
        <div class="two">
            <Export />
            <Closing />
        </div>
    </div>;
}

/** Somebody who says that the account is theirs and lost: the owner can say no. */
function Recoveries() {
    const { data } = useRead('list_own_recoveries', {}, { every: 60 });
    const object = useChange('object_to_recovery', { refresh: ['list_own_recoveries'] });
    const waiting = data?.items.filter(({ state }) => state === 'waiting') ?? [];
    if (waiting.length === 0) return null;
    return <>
        {waiting.map((each) => <Notice key={each.recovery_id} tone="stop" role="alert" heading
            title="Somebody asks for this account" actions={<Button kind="danger" busy={object.busy}
                onClick={() => void object.run({ path: { id: each.recovery_id } })}>That was not me</Button>}>
            <p>They say that {each.kind === 'email' ? 'the mail address' : 'the wallet'} is lost
                {each.lost_authenticator && ', and the authenticator'}; {each.replaced_by} would take its place. You can
                object until <When at={each.ready_at} />.</p>
        </Notice>)}
        {object.error && <Failure error={object.error} />}
    </>;
}
