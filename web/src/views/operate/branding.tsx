// Name, colour and logo of this market. Lightness is ours, so that every hue can be read.
import { useEffect, useState } from 'preact/hooks';
import { fieldError, useChange } from '../../api';
import { Badge, Button, Failure, Field, Loading, Page, Panel, TextInput, toast } from '../../kit';
import { Consequence, saidOf } from './consequence';
import { useSettings, type Setting } from './settings';

const keys = { name: 'branding.name', hue: 'branding.hue', logo: 'branding.logo' } as const;
const logoBytesMax = 16 * 1024;

export default function Branding() {
    const list = useSettings();
    const [asked, setAsked] = useState<{ setting: Setting; value: unknown; what: string }>();
    const of = (key: string) => list.items?.find((setting) => setting.key === key);
    const [name, hue, logo] = [of(keys.name), of(keys.hue), of(keys.logo)];
    if (list.error) return <Page title="Branding"><Failure error={list.error} retry={list.refetch} /></Page>;
    if (!name || !hue || !logo) return <Page title="Branding"><Loading /></Page>;
    return <Page title="Branding" facts="What people see of this market as its own.">
        <div class="stack">
            <Panel title="Name"><NameForm setting={name} onSave={(value) => setAsked({ setting: name, value, what: 'Change the name' })} /></Panel>
            <Panel title="Colour"><HueForm setting={hue} onSave={(value) => setAsked({ setting: hue, value, what: 'Change the colour' })} /></Panel>
            <Panel title="Logo"><LogoForm setting={logo} onSave={(value) => setAsked({ setting: logo, value, what: value === '' ? 'Take the logo off' : 'Change the logo' })} /></Panel>
        </div>
        {asked && <Save key={asked.what} {...asked} onClose={() => setAsked(undefined)} />}
    </Page>;
}

function NameForm({ setting, onSave }: { setting: Setting; onSave: (value: string) => void }) {
    const [name, setName] = useState(String(setting.value ?? ''));
    return <form class="stack" onSubmit={(event) => { event.preventDefault(); onSave(name); }}>
        <Field label="Name">{(ids) => <TextInput {...ids} value={name} onInput={setName} maxLength={40} />}</Field>
        <div class="actions"><Button type="submit" kind="primary" disabled={name === setting.value}>Change the name</Button></div>
    </form>;
}

function HueForm({ setting, onSave }: { setting: Setting; onSave: (value: number) => void }) {
    const [hue, setHue] = useState(Number(setting.value));
    useEffect(() => {
        const root = document.documentElement;
        root.style.setProperty('--brand-hue', String(hue));
        return () => { root.style.removeProperty('--brand-hue'); };
    }, [hue]);
    return <form class="stack" onSubmit={(event) => { event.preventDefault(); onSave(hue); }}>
        <Field label="Hue" hint="This page shows it at once, to you alone.">
            {(ids) => <input type="range" id={ids.id} aria-describedby={ids.describedBy} min={0} max={359} value={hue}
                onInput={(event) => setHue(Number(event.currentTarget.value))} />}
        </Field>
        <div class="row"><Badge tone="way">Hue {hue}</Badge><Button kind="primary" type="submit"
            disabled={hue === Number(setting.value)}>Change the colour</Button></div>
    </form>;
}

function LogoForm({ setting, onSave }: { setting: Setting; onSave: (value: string) => void }) {
    const [fault, setFault] = useState<string>();
    async function choose(file: File | undefined) {
        if (!file) return;
        if (file.size > logoBytesMax) return setFault(`At most ${logoBytesMax / 1024} KiB; this one has ${Math.ceil(file.size / 1024)}.`);
        const bytes = new Uint8Array(await file.arrayBuffer());
        setFault(undefined);
        onSave(btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')));
    }
    const has = typeof setting.value === 'string' && setting.value !== '';
    return <div class="stack">
        {has && <img src="/branding/logo" alt="The logo at present" height={24} />}
        <Field label="Picture" hint="PNG or WebP, 24 pixels high on the page." error={fault}>
            {(ids) => <input class="input" type="file" id={ids.id} aria-describedby={ids.describedBy}
                accept="image/png,image/webp" onChange={(event) => void choose(event.currentTarget.files?.[0])} />}
        </Field>
        {has && <div class="actions"><Button onClick={() => onSave('')}>Take it off</Button></div>}
    </div>;
}

function Save({ setting, value, what, onClose }: { setting: Setting; value: unknown; what: string; onClose: () => void }) {
    const change = useChange('put_setting', { refresh: ['list_settings', 'show_branding' as never], done: (answer) => {
        toast(saidOf(answer, 'Everybody sees it with their next page'));
        onClose();
    } });
    const ofValue = fieldError(change.error, 'body.value');
    return <Consequence title={what} open onClose={onClose} button={what} busy={change.busy} error={change.error}
        run={(reason) => void change.run({ path: { key: setting.key },
            body: { value, expected_version: setting.version, reason } } as never)}>
        <p>{ofValue ?? 'It shows on every page of this market.'}</p>
    </Consequence>;
}
