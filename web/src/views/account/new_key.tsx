// A new key: a name, what it may do, and what it may spend.
import type { Answer, Given } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { now } from '../../clock';
import { AmountInput, Button, Check, Failure, Field, Select, TextInput } from '../../kit';
import { useSession } from '../../session';
import { amountFault, parseAmount } from '../money/amount';

export type Made = Answer<'create_api_key'>;
type Body = Given<'create_api_key'>['body'];
type Policy = NonNullable<Body['policy']>;
type Amounts = 'per_day_micro' | 'max_hold_micro' | 'max_rate_micro_per_hour';

const amounts: [Amounts, string, string][] = [
    ['per_day_micro', 'Spend in a day, at most', 'What it reserves, raises and withdraws in a day of UTC.'],
    ['max_hold_micro', 'Held at once, at most', 'For all of its open rentals together.'],
    ['max_rate_micro_per_hour', 'Dearest machine, an hour', 'The whole machine, not one GPU.'],
];
const ends: [string, string][] = [['30', 'In 30 days'], ['90', 'In 90 days'], ['365', 'In a year'],
    ['', 'Not by itself']];
const dayMs = 86_400_000;

function useForm() {
    const [name, setName] = useState('');
    const [scopes, setScopes] = useState<('renter' | 'host')[]>(['renter']);
    const [days, setDays] = useState('90');
    const [isLimited, setIsLimited] = useState(true);
    const [texts, setTexts] = useState<Record<Amounts, string>>(
        { per_day_micro: '20', max_hold_micro: '', max_rate_micro_per_hour: '' });
    const [rentals, setRentals] = useState('');
    const [classes, setClasses] = useState('');
    const [templates, setTemplates] = useState<string[]>([]);
    const [withdraw, setWithdraw] = useState('none');
    return { name, setName, scopes, setScopes, days, setDays, isLimited, setIsLimited, texts, setTexts, rentals,
        setRentals, classes, setClasses, templates, setTemplates, withdraw, setWithdraw };
}
type Form = ReturnType<typeof useForm>;

function policyOf(form: Form): Policy {
    const policy: Policy = { withdraw: form.withdraw === 'saved' ? 'saved' : 'none' };
    for (const [member] of amounts) {
        const micro = parseAmount(form.texts[member]);
        if (micro !== null) policy[member] = micro;
    }
    if (form.rentals !== '') policy.max_open_rentals = Number(form.rentals);
    if (form.classes === 'dedicated' || form.classes === 'interruptible') policy.classes = [form.classes];
    if (form.templates.length > 0) policy.templates = form.templates;
    return policy;
}

function bodyOf(form: Form): Body {
    const body: Body = { name: form.name.trim(), scopes: form.scopes };
    if (form.days !== '') body.expires_at = new Date(now() + Number(form.days) * dayMs).toISOString();
    if (form.isLimited) body.policy = policyOf(form);
    return body;
}

function faultsOf(form: Form): Partial<Record<Amounts | 'name' | 'scopes' | 'rentals', string>> {
    const faults: ReturnType<typeof faultsOf> = {};
    if (form.name.trim() === '') faults.name = 'A name tells it from the others.';
    if (form.scopes.length === 0) faults.scopes = 'It must be allowed something.';
    if (!form.isLimited) return faults;
    for (const [member] of amounts) {
        const fault = form.texts[member].trim() === '' ? undefined : amountFault(form.texts[member]);
        if (fault) faults[member] = fault;
    }
    if (form.rentals !== '' && !/^\d{1,6}$/.test(form.rentals)) faults.rentals = 'A whole number.';
    return faults;
}

export function NewKey({ onMade, onClose }: { onMade: (key: Made) => void; onClose: () => void }) {
    const form = useForm();
    const session = useSession();
    const [body, setBody] = useState<{ text: string; body: Body }>();
    const [wasAsked, setWasAsked] = useState(false);
    const create = useChange('create_api_key', { refresh: ['list_api_keys'], done: onMade });
    const faults = wasAsked ? faultsOf(form) : {};
    const toggle = (scope: 'renter' | 'host', isOn: boolean) =>
        form.setScopes(isOn ? [...form.scopes, scope] : form.scopes.filter((each) => each !== scope));

    function make(event: Event) {
        event.preventDefault();
        setWasAsked(true);
        if (Object.keys(faultsOf(form)).length > 0) return;
        // The end is counted from now: the same wish must stay the same when it is sent again.
        const text = JSON.stringify([form.name, form.scopes, form.days, form.isLimited && policyOf(form)]);
        const wished = body?.text === text ? body.body : bodyOf(form);
        setBody({ text, body: wished });
        void create.run({ body: wished });
    }
    const told = (member: string) => fieldError(create.error, `body.${member}`);
    const scopeFault = faults.scopes ?? told('scopes');
    return <form class="stack" onSubmit={make} noValidate>
        <Field label="Name" error={faults.name ?? told('name')}>
            {(ids) => <TextInput {...ids} value={form.name} onInput={form.setName} maxLength={60} placeholder="laptop"
                autoFocus />}
        </Field>
        <fieldset class="tight">
            <legend class="strong small">It may</legend>
            <Check checked={form.scopes.includes('renter')} onChange={(isOn) => toggle('renter', isOn)}
                label="Rent" hint="Rentals, chat, balance, payments in." />
            {session?.host_capability && <Check checked={form.scopes.includes('host')}
                onChange={(isOn) => toggle('host', isOn)} label="Host" hint="Machines, offers, earnings." />}
            {scopeFault && <span class="error" role="alert">{scopeFault}</span>}
        </fieldset>
        <Field label="It ends" error={told('expires_at')}>
            {(ids) => <Select {...ids} value={form.days} onChange={form.setDays} options={ends} />}
        </Field>
        <Check checked={form.isLimited} onChange={form.setIsLimited} label="Limit what it may spend"
            hint="The service keeps it to that, whatever the program does." />
        {form.isLimited && <LimitFields form={form} faults={faults} told={told} />}
        {create.error && !isBeside(create.error.member) && <Failure error={create.error} />}
        <div class="actions">
            <Button type="submit" kind="primary" busy={create.busy}>Make the key</Button>
            <Button onClick={onClose}>Cancel</Button>
        </div>
    </form>;
}

function isBeside(member: string | null): boolean {
    return /^body\.(name|scopes|expires_at|policy\.)/.test(member ?? '');
}

function LimitFields({ form, faults, told }: {
    form: Form; faults: ReturnType<typeof faultsOf>; told: (member: string) => string | undefined;
}) {
    return <div class="stack">
        <div class="two">
            {amounts.map(([member, label, hint]) => <Field key={member} label={label} hint={hint}
                error={faults[member] ?? told(`policy.${member}`)}>
                {(ids) => <AmountInput {...ids} value={form.texts[member]} placeholder="no limit"
                    onInput={(text) => form.setTexts({ ...form.texts, [member]: text })} />}
            </Field>)}
            <Field label="Rentals at once, at most" error={faults.rentals ?? told('policy.max_open_rentals')}>
                {(ids) => <TextInput {...ids} value={form.rentals} onInput={form.setRentals} inputMode="numeric"
                    placeholder="no limit" />}
            </Field>
            <Field label="Machines" error={told('policy.classes')}>
                {(ids) => <Select {...ids} value={form.classes} onChange={form.setClasses} options={[
                    ['', 'All'], ['dedicated', 'Dedicated only'], ['interruptible', 'Interruptible only']]} />}
            </Field>
            <Field label="Sending money out" error={told('policy.withdraw')}>
                {(ids) => <Select {...ids} value={form.withdraw} onChange={form.setWithdraw} options={[
                    ['none', 'Never'], ['saved', 'To saved addresses']]} />}
            </Field>
        </div>
        <Templates form={form} error={told('policy.templates')} />
    </div>;
}

function Templates({ form, error }: { form: Form; error: string | undefined }) {
    const { data } = useRead('list_templates', { query: { limit: 100 } });
    if (!data || data.items.length === 0) return null;
    const toggle = (id: string, isOn: boolean) =>
        form.setTemplates(isOn ? [...form.templates, id] : form.templates.filter((each) => each !== id));
    return <details>
        <summary>{form.templates.length === 0 ? 'All templates' : `${form.templates.length} of the templates`}</summary>
        <div class="tight">
            {data.items.map(({ id, name }) => <Check key={id} checked={form.templates.includes(id)}
                onChange={(isOn) => toggle(id, isOn)} label={name} />)}
            {error && <span class="error" role="alert">{error}</span>}
        </div>
    </details>;
}
