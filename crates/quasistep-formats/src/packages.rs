//! Resolves file addresses in robot files: `package://`, `file://`, or relative to the robot's
//! folder.

use crate::error::list_some;
use crate::files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Number of parent folders that are searched for a package.
const MOST_FOLDERS: usize = 64;

/// Package URI schemes of ROS and of Gazebo.
const SCHEMES: [&str; 2] = ["package://", "model://"];
/// Environment variables with search folders of packages and models.
const SEARCH_PATHS: [&str; 4] =
    ["ROS_PACKAGE_PATH", "SDF_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH"];

/// Search paths of the files named by a robot.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Folder of the file that names them.
    pub dir: &'a Path,
    /// Folder of each package in `package://name`, given by the scene.
    pub packages: &'a BTreeMap<String, PathBuf>,
}

impl Places<'_> {
    /// Finds the file with this address.
    ///
    /// Packages and Gazebo models are searched in the scene's `packages`; in parent folders, by
    /// folder name, by the name in `package.xml` and in their subfolders; in `ROS_PACKAGE_PATH`,
    /// `SDF_PATH`, `GZ_SIM_RESOURCE_PATH` and `GAZEBO_MODEL_PATH`; and in `share` of
    /// `AMENT_PREFIX_PATH`. The path may not leave the package.
    ///
    /// # Errors
    ///
    /// A message that lists the places searched.
    pub fn find(&self, address: &str) -> Result<PathBuf, String> {
        let Some(rest) = SCHEMES.iter().find_map(|scheme| address.strip_prefix(scheme)) else {
            let path = self.dir.join(address.strip_prefix("file://").unwrap_or(address));
            return if files::is_file(&path) { Ok(path) } else { Err(files::no_file(&path)) };
        };
        let (package, rest) = rest.split_once('/').unwrap_or((rest, ""));
        if leads_out(rest) {
            return Err(format!(
                "{address} leads out of its package, which is refused; name the package that has it"
            ));
        }
        self.search(package, rest, address, files::is_file)
    }

    /// Finds the folder of a package, in the same places. It is not kept as one of the scene's files.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub(crate) fn folder(&self, package: &str) -> Result<PathBuf, String> {
        self.search(package, "", &format!("the package `{package}`"), Path::is_dir)
    }

    /// Finds what `exists` at the path `rest` in a package.
    fn search(
        &self,
        package: &str,
        rest: &str,
        address: &str,
        exists: fn(&Path) -> bool,
    ) -> Result<PathBuf, String> {
        let mut looked: Vec<PathBuf> = Vec::new();
        let mut look = |folder: PathBuf| {
            let path = folder.join(rest);
            if exists(&path) {
                return Some(path);
            }
            looked.push(folder);
            None
        };
        let given = self.packages.get(package);
        let found = match given {
            // a folder given by the scene overrides the search
            Some(folder) => look(folder.clone()),
            None => self.candidates(package).find_map(&mut look),
        };
        found.ok_or_else(|| {
            let hint = if given.is_some() {
                String::new()
            } else {
                format!(
                    "; say where the package is: `packages: {{{package}: folder}}` beside the file, or in ROS_PACKAGE_PATH"
                )
            };
            let folders: Vec<String> = looked.iter().map(|p| p.display().to_string()).collect();
            let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
            format!("{address} was not found in {}{hint}", list_some(&folders))
        })
    }

    /// Folders that may be this package, most likely first.
    fn candidates(&self, package: &str) -> impl Iterator<Item = PathBuf> {
        let mut all = Vec::new();
        // make the path absolute: a relative one has no parents above the current folder
        let dir = files::current_dir().join(self.dir);
        for above in dir.ancestors().take(MOST_FOLDERS) {
            let is_named = above.file_name().is_some_and(|name| name == package);
            if package.is_empty() || is_named || named_in_manifest(above, package) {
                all.push(above.to_owned());
            }
            if !package.is_empty() {
                all.push(above.join(package));
            }
        }
        for folder in SEARCH_PATHS.iter().flat_map(|variable| search_path(variable)) {
            if package.is_empty() || folder.file_name().is_some_and(|name| name == package) {
                all.push(folder.clone());
            }
            all.push(folder.join(package));
        }
        all.extend(search_path("AMENT_PREFIX_PATH").map(|f| f.join("share").join(package)));
        all.into_iter()
    }
}

/// True if a relative path leaves its folder at some point.
fn leads_out(path: &str) -> bool {
    let mut depth = 0usize;
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

fn search_path(variable: &str) -> impl Iterator<Item = PathBuf> {
    let value = files::environment(variable).unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&value).filter(|f| !f.as_os_str().is_empty()).collect();
    folders.into_iter()
}

/// True if the folder's `package.xml` has this package name.
fn named_in_manifest(folder: &Path, package: &str) -> bool {
    let manifest = folder.join("package.xml");
    if !files::is_file(&manifest) {
        return false;
    }
    let Ok(text) = files::read_to_string(&manifest) else { return false };
    let Ok(document) = quasistep_mesh::xml::parse(&text) else { return false };
    let name = document.root_element().children().find(|n| n.has_tag_name("name"));
    name.and_then(|n| n.text()).is_some_and(|name| name.trim() == package)
}

#[cfg(test)]
mod tests {
    use super::leads_out;

    #[test]
    fn paths_stay_in_their_package() {
        for inside in ["", "a/b.obj", "a/../b.obj", "./a/./../b/../c", "a//b"] {
            assert!(!leads_out(inside), "{inside}");
        }
        for outside in ["..", "../b.obj", "a/../../b", "a/..//../../etc/passwd", "a\\..\\..\\b"] {
            assert!(leads_out(outside), "{outside}");
        }
    }
}
