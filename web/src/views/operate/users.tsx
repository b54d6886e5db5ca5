// Everybody with an account.
import { Ago, Id, visible } from '../../format';
import { Badge, Page } from '../../kit';
import { role } from '../../words';
import { DeskList } from './desk_list';

export default function Users() {
    return <Page title="Users" facts="People and agents.">
        <DeskList operation="list_users" caption="Users" keyOf={({ user_id }) => user_id}
            href={({ user_id }) => `/operate/users/${user_id}`}
            filters={[{ name: 'q', label: 'Mail or id' }]} empty="Nobody matches." columns={[
                { head: 'Who', cell: ({ email, account_kind, user_id }) => <><span class="strong">{email ? visible(email) : (account_kind === 'agent' ? 'An agent' : 'Nobody any more')}</span>
                    <small><Id value={user_id} /></small></> },
                { head: 'Role', cell: ({ role: name, desk_role, host_capability }) => <>{role(name)}{desk_role && `, ${desk_role}`}
                    {host_capability && name === 'renter' && <small>may rent out</small>}</> },
                { head: 'Standing', cell: ({ suspended, frozen }) => suspended ? <Badge tone="stop">Suspended</Badge>
                    : frozen ? <Badge tone="lamp">Money frozen</Badge> : <Badge tone="go">Good</Badge> },
                { head: 'Authenticator', cell: ({ mfa_enrolled }) => mfa_enrolled ? 'yes' : 'no', narrow: 'hide' },
                { head: 'Last here', cell: ({ last_sign_in_at }) => last_sign_in_at ? <Ago at={last_sign_in_at} /> : 'never', right: true },
            ]} />
    </Page>;
}
