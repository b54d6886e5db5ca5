// Light, dark, or as the system has it: the one thing that this program keeps.
import { useState } from 'preact/hooks';

const key = 'theme';
const themes = ['system', 'light', 'dark'] as const;
type Theme = typeof themes[number];

function kept(): Theme {
    try {
        return themes.find((theme) => theme === localStorage.getItem(key)) ?? 'system';
    } catch {
        return 'system';
    }
}

export function applyTheme(theme: Theme = kept()): void {
    if (theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
}

export function ThemeSwitch() {
    const [theme, setTheme] = useState(kept());
    function choose(next: Theme) {
        setTheme(next);
        applyTheme(next);
        try { localStorage.setItem(key, next); } catch { /* then for this page alone */ }
    }
    return <label class="theme">
        <span class="sr">Theme</span>
        <select value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}>
            <option value="system">Theme of the system</option>
            <option value="light">Light</option>
            <option value="dark">Dark</option>
        </select>
    </label>;
}
