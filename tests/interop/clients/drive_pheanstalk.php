<?php
// Drives Pheanstalk (Debian's php-pda-pheanstalk): plays a scenario as transcript.py does.

require_once 'Pheanstalk/autoload.php';

use Pheanstalk\Contract\ResponseInterface;
use Pheanstalk\Job;
use Pheanstalk\JobId;
use Pheanstalk\Pheanstalk;

/** What it has, by beanstalkd's words. */
function commands_of(Pheanstalk $client): array
{
    $id = fn(int $number) => new JobId($number);
    return [
        'put' => fn(...$put) => $client->put(...$put),
        'use' => fn($name) => $client->useTube($name),
        'reserve' => fn() => $client->reserve(),
        'reserve-with-timeout' => fn($seconds) => $client->reserveWithTimeout($seconds),
        'delete' => fn($number) => $client->delete($id($number)),
        'release' => fn($number, ...$rest) => $client->release($id($number), ...$rest),
        'bury' => fn($number, ...$rest) => $client->bury($id($number), ...$rest),
        'touch' => fn($number) => $client->touch($id($number)),
        'watch' => fn($name) => $client->watch($name),
        'ignore' => fn($name) => $client->ignore($name),
        'peek' => fn($number) => $client->peek($id($number)),
        'peek-ready' => fn() => $client->peekReady(),
        'peek-delayed' => fn() => $client->peekDelayed(),
        'peek-buried' => fn() => $client->peekBuried(),
        'kick' => fn($count) => $client->kick($count),
        'kick-job' => fn($number) => $client->kickJob($id($number)),
        'stats' => fn() => $client->stats(),
        'stats-job' => fn($number) => $client->statsJob($id($number)),
        'stats-tube' => fn($name) => $client->statsTube($name),
        'list-tubes' => fn() => $client->listTubes(),
        'list-tube-used' => fn() => $client->listTubeUsed(true),
        'list-tubes-watched' => fn() => $client->listTubesWatched(true),
        'pause-tube' => fn($name, $seconds) => $client->pauseTube($name, $seconds),
    ];
}

function short(string $text): string
{
    return strlen($text) > 200 ? substr($text, 0, 200) . '... ' . strlen($text) : $text;
}

function shown($seen): string
{
    if ($seen instanceof Pheanstalk) {
        return 'itself';
    }
    if ($seen instanceof Job) {
        $seen = [$seen->getId(), $seen->getData()];
    }
    return short(json_encode($seen));
}

function write_down(string $step, callable $call): void
{
    try {
        $seen = $call();
        if ($seen instanceof ResponseInterface) {
            foreach ($seen as $field => $value) {
                echo "$step -> $field $value\n";
            }
        } else {
            echo "$step -> ", shown($seen), "\n";
        }
    } catch (Exception $error) {
        echo "$step -> ", get_class($error), ' ', $error->getMessage(), "\n";
    }
}

function drain(array $commands): void
{
    posix_kill((int) $commands['stats']()['pid'], SIGUSR1);
    while (true) {
        $commands['put']('drained', 0, 0, 1);
    }
}

[, $port, $path] = $argv;
$clients = [];
foreach (json_decode(file_get_contents($path)) as $given) {
    $name = array_shift($given);
    $command = array_shift($given);
    $clients[$name] ??= commands_of(Pheanstalk::create('127.0.0.1', (int) $port));
    $step = implode(' ', [$name, $command, ...array_map(fn($one) => short(json_encode($one)), $given)]);
    if ($command === 'drain') {
        write_down($step, fn() => drain($clients[$name]));
    } elseif ($command === 'close') {
        unset($clients[$name]);
        echo "$step -> gone\n";
    } elseif (!isset($clients[$name][$command])) {
        echo "$step -> lacking\n";
    } else {
        write_down($step, fn() => $clients[$name][$command](...$given));
    }
}
echo "done\n";
