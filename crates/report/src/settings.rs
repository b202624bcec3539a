//! Settings of a run that its report shows: those that somebody has set and that may change
//! figures.

use selfbench_model::Setting;

/// Settings that every server has set, or that do not change figures: where files, sockets and logs
/// are, how texts look, and what the extension sets for queries of its own.
const LEFT_OUT: [&str; 24] = [
    "application_name",
    "bytea_output",
    "client_encoding",
    "client_min_messages",
    "cluster_name",
    "config_file",
    "data_directory",
    "datestyle",
    "default_text_search_config",
    "dynamic_library_path",
    "dynamic_shared_memory_type",
    "external_pid_file",
    "extra_float_digits",
    "hba_file",
    "ident_file",
    "intervalstyle",
    "listen_addresses",
    "log_destination",
    "log_directory",
    "log_file_mode",
    "log_filename",
    "log_line_prefix",
    "port",
    "timezone",
];

/// Prefixes of names of further settings to leave out.
const FAMILIES: [&str; 8] = [
    "bonjour",
    "extension_",
    "lc_",
    "log_rotation",
    "log_timezone",
    "ssl",
    "syslog",
    "unix_socket",
];

/// Whether a report shows a setting.
pub fn is_shown(setting: &Setting) -> bool {
    let name = setting.name.to_ascii_lowercase();
    !matches!(setting.source.as_str(), "default" | "override")
        && !LEFT_OUT.contains(&name.as_str())
        && !FAMILIES.iter().any(|family| name.starts_with(family))
}
