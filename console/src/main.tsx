import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './page.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
createRoot(root).render(<App />);
